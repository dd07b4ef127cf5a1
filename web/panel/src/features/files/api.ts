import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { addressOf, api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Entry = components["schemas"]["FilesEntry"];

/** Beyond this many entries of a directory the first of them are read, and the page says so. */
export const mostEntries = 2000;

interface Directory {
  entries: Entry[];
  total: number;
}

export async function readDirectory(service: number, path: string, signal?: AbortSignal): Promise<Directory> {
  const { data, meta } = await allPages(
    (page) =>
      call(
        api.GET("/api/v1/services/{service}/files", {
          params: { path: { service }, query: { path, ...page } },
          signal,
        }),
      ),
    mostEntries,
  );
  return { entries: data, total: meta.total };
}

export const directory = (service: number, path: string) =>
  queryOptions({
    queryKey: ["service", service, "files", path],
    queryFn: ({ signal }) => readDirectory(service, path, signal),
  });

export type SearchIn = "name" | "content";

export const searched = (service: number, path: string, q: string, where: SearchIn) =>
  queryOptions({
    queryKey: ["service", service, "search", path, q, where],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/services/{service}/files/search", {
          params: { path: { service }, query: { path, q, in: where, per_page: 50 } },
          signal,
        }),
      ),
    enabled: q !== "",
    placeholderData: keepPreviousData,
  });

export const makeDirectory = (service: number, path: string) =>
  call(api.POST("/api/v1/services/{service}/files/directories", { params: { path: { service } }, body: { path } }));

/** Makes an empty file, where nothing is yet. */
export const makeFile = (service: number, path: string) =>
  call(
    api.PUT("/api/v1/services/{service}/files/content", {
      params: { path: { service }, header: { "If-None-Match": "*" } },
      body: { path, content: "" },
    }),
  );

export const move = (service: number, from: string, to: string) =>
  call(api.POST("/api/v1/services/{service}/files/move", { params: { path: { service } }, body: { from, to } }));

export const copy = (service: number, from: string, to: string) =>
  call(api.POST("/api/v1/services/{service}/files/copy", { params: { path: { service } }, body: { from, to } }));

export const remove = (service: number, entry: Entry) =>
  call(
    api.DELETE("/api/v1/services/{service}/files", {
      params: { path: { service }, query: { path: entry.path, recursive: entry.type === "directory" } },
    }),
  );

export const pack = (service: number, paths: string[], target: string) =>
  call(
    api.POST("/api/v1/services/{service}/files/archive", {
      params: { path: { service } },
      body: { operation: "create", paths, target },
    }),
  );

export const extract = (service: number, path: string, target: string, overwrite: boolean) =>
  call(
    api.POST("/api/v1/services/{service}/files/archive", {
      params: { path: { service } },
      body: { operation: "extract", paths: [path], target, overwrite },
    }),
  );

export const downloadOf = (service: number, path: string) =>
  addressOf(`/api/v1/services/${service}/files/download`, { path });

export type Content = components["schemas"]["FilesContent"];

export const readFile = (service: number, path: string, signal?: AbortSignal) =>
  call(api.GET("/api/v1/services/{service}/files/content", { params: { path: { service }, query: { path } }, signal }));

/** The file as it is when the editor opens; it is not refreshed under the person who writes. */
export const opened = (service: number, path: string) =>
  queryOptions({
    queryKey: ["service", service, "opened", path],
    queryFn: ({ signal }) => readFile(service, path, signal),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });

/** Writes a file; refused with etag_mismatch when it is not the version `etag` any more. */
export const writeFile = (service: number, path: string, content: string, etag: string) =>
  call(
    api.PUT("/api/v1/services/{service}/files/content", {
      params: { path: { service } },
      body: { path, content, etag },
    }),
  );

/** The service, for the address of its site. */
export const site = (id: number) =>
  queryOptions({
    queryKey: ["service", id],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services/{service}", { params: { path: { service: id } }, signal })),
  });
