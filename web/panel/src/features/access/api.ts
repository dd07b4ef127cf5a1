import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type FtpAccount = components["schemas"]["AccessFtp"];
type NewFtp = components["schemas"]["AccessCreateFTPBody"];

export const sshKeys = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "ssh-keys"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(api.GET("/api/v1/services/{service}/ssh-keys", { params: { path: { service }, query: page }, signal })),
      ),
  });

export const createKey = (service: number, body: { name?: string; public_key: string }) =>
  call(api.POST("/api/v1/services/{service}/ssh-keys", { params: { path: { service } }, body }));

export const deleteKey = (service: number, ssh_key: number) =>
  call(api.DELETE("/api/v1/services/{service}/ssh-keys/{ssh_key}", { params: { path: { service, ssh_key } } }));

export type Shell = components["schemas"]["AccessShell"];

export const shell = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "shell"],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/services/{service}/shell", { params: { path: { service } }, signal })),
    refetchInterval: (query) => (query.state.data?.status === "pending" ? pace(5000) : false),
  });

export const setShell = (service: number, enabled: boolean) =>
  call(api.PUT("/api/v1/services/{service}/shell", { params: { path: { service } }, body: { enabled } }));

const changing = (account: FtpAccount) => account.status === "pending" || account.status === "removing";

export const ftpAccounts = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "ftp"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(api.GET("/api/v1/services/{service}/ftp", { params: { path: { service }, query: page }, signal })),
      ),
    refetchInterval: (query) => (query.state.data?.data.some(changing) ? pace(5000) : false),
  });

export const createFtp = (service: number, body: NewFtp) =>
  call(api.POST("/api/v1/services/{service}/ftp", { params: { path: { service } }, body }));

export const deleteFtp = (service: number, ftp_account: number) =>
  call(api.DELETE("/api/v1/services/{service}/ftp/{ftp_account}", { params: { path: { service, ftp_account } } }));
