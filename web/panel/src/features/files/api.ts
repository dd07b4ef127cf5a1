import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { addressOf, api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";
import { boot } from "~/app/boot";

export type Entry = components["schemas"]["FilesEntry"];

/** Up to this many entries a directory is read at once; of a larger one, the page that is shown. */
export const mostAtOnce = 2000;

/** Beyond this many entries a directory is not read whole: the first of them are sorted, and the page says so. */
export const mostSorted = 10_000;

interface Directory {
  entries: Entry[];
  total: number;
}

const reader = (service: number, path: string, signal?: AbortSignal) => (page: { page: number; per_page: number }) =>
  call(
    api.GET("/api/v1/services/{service}/files", {
      params: { path: { service }, query: { path, ...page } },
      signal,
    }),
  );

export async function readDirectory(service: number, path: string, signal?: AbortSignal): Promise<Directory> {
  const { data, meta } = await allPages(reader(service, path, signal), mostSorted);
  return { entries: data, total: meta.total };
}

const perPage = 50; // the most that the interface answers

/** A directory; of one with more than `mostAtOnce` entries only the first are read. */
export const directory = (service: number, path: string) =>
  queryOptions({
    queryKey: ["service", service, "files", path],
    queryFn: async ({ signal }): Promise<Directory> => {
      const read = reader(service, path, signal);
      const first = await read({ page: 1, per_page: perPage });
      const { total } = first.meta;
      if (total > mostAtOnce) return { entries: first.data, total };
      const { data } = await allPages((page) => (page.page === 1 ? Promise.resolve(first) : read(page)));
      return { entries: data, total };
    },
  });

/** One page of a large directory in the order of the interface: folders first, then by name. */
export const rowsOfDirectory = (service: number, path: string, page: number, rows: number) =>
  queryOptions({
    queryKey: ["service", service, "files", path, "page", page],
    queryFn: async ({ signal }) => {
      const read = reader(service, path, signal);
      const each = rows / perPage;
      const parts = await Promise.all(
        Array.from({ length: each }, (_, n) => read({ page: (page - 1) * each + n + 1, per_page: perPage })),
      );
      return parts.flatMap((part) => part.data);
    },
    placeholderData: keepPreviousData,
  });

/** A large directory whole, up to `mostSorted` entries. */
export const wholeDirectory = (service: number, path: string) =>
  queryOptions({
    queryKey: ["service", service, "files", path, "whole"],
    queryFn: async ({ signal }) => (await readDirectory(service, path, signal)).entries,
  });

/** The folders in a directory: they come first. */
export const folders = (service: number, path: string) =>
  queryOptions({
    queryKey: ["service", service, "files", path, "folders"],
    queryFn: async ({ signal }) => {
      const read = reader(service, path, signal);
      const found: Entry[] = [];
      for (let page = 1; ; page++) {
        const { data, meta } = await read({ page, per_page: perPage });
        const here = data.filter((entry) => entry.type === "directory");
        found.push(...here);
        if (here.length < data.length || page >= meta.last_page) return found;
      }
    },
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

/** Sets permissions in octal; with `recursive` also of what is in a folder, whose folders can be opened by those who read. */
export const setPermissions = (service: number, path: string, mode: string, recursive: boolean) =>
  call(
    api.POST("/api/v1/services/{service}/files/permissions", {
      params: { path: { service } },
      body: { path, mode, recursive },
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

/** The service, for the address of its site; a reseller's client may not ask. */
export const site = (id: number) =>
  queryOptions({
    queryKey: ["service", id],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services/{service}", { params: { path: { service: id } }, signal })),
    enabled: !boot.client,
  });
