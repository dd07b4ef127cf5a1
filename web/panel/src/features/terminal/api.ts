import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";

const get = (service: number, signal?: AbortSignal) =>
  call(api.GET("/api/v1/services/{service}/shell", { params: { path: { service } }, signal }));

export const shell = (service: number) =>
  queryOptions({ queryKey: ["service", service, "shell"], queryFn: ({ signal }) => get(service, signal) });

/** Switches the shell on, and waits until the hosting server has followed, half a minute at most. */
export async function switchOn(service: number) {
  const params = { path: { service } };
  let { status } = await call(api.PUT("/api/v1/services/{service}/shell", { params, body: { enabled: true } }));
  for (let n = 0; status === "pending" && n < 60; n++) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    ({ status } = await get(service));
  }
}
