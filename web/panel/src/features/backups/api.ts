import { queryOptions } from "@tanstack/react-query";

import { addressOf, api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Backup = components["schemas"]["Backup"];
export type Part = Backup["parts"][number]["part"];
export type Restore = components["schemas"]["BackupsRestoreBody"];

const isRestoring = ({ restore }: Backup) =>
  restore !== null && restore.status !== "completed" && restore.status !== "failed";

/** Whether a backup is being made or put back. */
export const isBusy = (backup: Backup) =>
  backup.status === "queued" || backup.status === "running" || backup.status === "restoring" || isRestoring(backup);

export const backups = (service: number, page: number) =>
  queryOptions({
    queryKey: ["service", service, "backups", page],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/services/{service}/backups", { params: { path: { service }, query: { page } }, signal })),
    refetchInterval: (query) => (query.state.data?.data.some(isBusy) ? pace(5000) : false),
  });

/** The databases of the service, to choose one of them. */
export const databaseNames = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "databases"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(api.GET("/api/v1/services/{service}/databases", { params: { path: { service }, query: page }, signal })),
      ),
  });

export const makeBackup = (service: number, parts: Part[], note: string) =>
  call(
    api.POST("/api/v1/services/{service}/backups", {
      params: { path: { service } },
      body: { parts, note: note || undefined },
    }),
  );

export const restoreBackup = (service: number, backup: number, body: Restore) =>
  call(
    api.POST("/api/v1/services/{service}/backups/{backup}/restore", { params: { path: { service, backup } }, body }),
  );

export const downloadOf = (service: number, backup: number) =>
  addressOf(`/api/v1/services/${service}/backups/${backup}/download`);
