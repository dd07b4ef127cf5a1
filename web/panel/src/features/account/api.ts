import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

type Schemas = components["schemas"];

export type Session = Schemas["AccountSession"];
export type Event = Schemas["AccountEvent"];
export type Security = Schemas["AccountSecurity"];

export const updateMe = (body: Schemas["AccountUpdateMeBody"]) => call(api.PATCH("/api/v1/me", { body }));

export const changeEmail = (email: string) => call(api.POST("/api/v1/me/email", { body: { email } }));

export const currencies = queryOptions({
  queryKey: ["currencies"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/currencies", { signal })),
  staleTime: Infinity,
});

export const sessions = (page: number) =>
  queryOptions({
    queryKey: ["account", "sessions", page],
    queryFn: ({ signal }) => call(api.GET("/api/v1/me/sessions", { params: { query: { page } }, signal })),
  });

export const endSession = (session: number) =>
  call(api.DELETE("/api/v1/me/sessions/{session}", { params: { path: { session } } }));

export const endOtherSessions = () => call(api.DELETE("/api/v1/me/sessions"));

export const securityLog = (page: number) =>
  queryOptions({
    queryKey: ["account", "log", page],
    queryFn: ({ signal }) => call(api.GET("/api/v1/me/security-log", { params: { query: { page } }, signal })),
  });

export const security = queryOptions({
  queryKey: ["account", "security"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/me/security", { signal })),
});

export const changePassword = (body: Schemas["AccountChangePasswordBody"]) =>
  call(api.PUT("/api/v1/me/password", { body }));

export const enrol = () => call(api.POST("/api/v1/me/two-factor/enrol"));

export const enableTwoFactor = (code: string) => call(api.POST("/api/v1/me/two-factor", { body: { code } }));

export const disableTwoFactor = () => call(api.DELETE("/api/v1/me/two-factor"));

export const renewCodes = () => call(api.POST("/api/v1/me/two-factor/recovery-codes"));

export const deletePasskey = (passkey: number) =>
  call(api.DELETE("/api/v1/me/passkeys/{passkey}", { params: { path: { passkey } } }));

/** Makes a passkey by the browser's authenticator. Answers false when the person changed their mind. */
export async function addPasskey(name: string): Promise<boolean> {
  const { ceremony, options } = await call(api.POST("/api/v1/me/passkeys/begin"));
  const { publicKey } = options as { publicKey: PublicKeyCredentialCreationOptionsJSON };
  let made: Credential | null;
  try {
    made = await navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey),
    });
  } catch (error) {
    if (error instanceof DOMException && (error.name === "NotAllowedError" || error.name === "AbortError"))
      return false;
    throw error;
  }
  const credential = (made as PublicKeyCredential).toJSON() as Record<string, unknown>;
  await call(api.POST("/api/v1/me/passkeys", { body: { ceremony, name, credential } }));
  return true;
}

export type Connection = Schemas["OauthConnection"];
export type Application = Schemas["OauthApplication"];
export type Device = Schemas["Device"];

export const connections = (page: number) =>
  queryOptions({
    queryKey: ["connections", page],
    queryFn: ({ signal }) => call(api.GET("/api/v1/me/connections", { params: { query: { page } }, signal })),
  });

export const disconnect = (application: number) =>
  call(api.DELETE("/api/v1/me/connections/{application}", { params: { path: { application } } }));

export const applications = (page: number) =>
  queryOptions({
    queryKey: ["applications", page],
    queryFn: ({ signal }) => call(api.GET("/api/v1/apps", { params: { query: { page } }, signal })),
  });

export const application = (id: number) =>
  queryOptions({
    queryKey: ["applications", "one", id],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/apps/{application}", { params: { path: { application: id } }, signal })),
  });

export const createApplication = (body: Schemas["OauthCreateBody"]) => call(api.POST("/api/v1/apps", { body }));

export const updateApplication = (application: number, body: Schemas["OauthUpdateBody"]) =>
  call(api.PATCH("/api/v1/apps/{application}", { params: { path: { application } }, body }));

export const rotateSecret = (application: number) =>
  call(api.POST("/api/v1/apps/{application}/rotate-secret", { params: { path: { application } } }));

export const deleteApplication = (application: number) =>
  call(api.DELETE("/api/v1/apps/{application}", { params: { path: { application } } }));

export const devices = queryOptions({
  queryKey: ["devices"],
  queryFn: ({ signal }) => allPages((page) => call(api.GET("/api/v1/me/devices", { params: { query: page }, signal }))),
});

export const removeDevice = (device: number) =>
  call(api.DELETE("/api/v1/me/devices/{device}", { params: { path: { device } } }));

export type Export = Schemas["Export"];

/** The archive of the account's data; it is looked at again while it is being made. */
export const dataExport = queryOptions({
  queryKey: ["account", "export"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/me/export", { signal })),
  refetchInterval: ({ state }) => (state.data?.status === "pending" ? 1000 : false),
});

export const requestExport = () => call(api.POST("/api/v1/me/export"));

export const deleteExport = () => call(api.DELETE("/api/v1/me/export"));

/** Downloads the archive; the owner is asked who they are first, so a link would not do. */
export async function downloadExport(name: string) {
  const file = (await call(api.GET("/api/v1/me/export/archive", { parseAs: "blob" }))) as unknown as Blob;
  const address = URL.createObjectURL(file);
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

export type Closing = Schemas["AccountClosing"];

/** What closing the account would take. */
export const closing = queryOptions({
  queryKey: ["account", "closing"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/me/closing", { signal })),
});

export const closeAccount = (email: string, balance: number) =>
  call(api.POST("/api/v1/me/close", { body: { email, give_up_usd_cents: balance } }));
