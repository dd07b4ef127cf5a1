import { addressOf, api, call } from "~/api/client";
import { ApiFailure } from "~/api/failure";
import { session } from "~/api/session";
import { queryClient } from "~/app/queries";

import { begin } from "./begun";
import { UploadQueue, type Upload } from "./queue";

const expired = new Set(["unauthenticated", "token_expired"]);

/** Sends a form by XMLHttpRequest: fetch cannot tell how much of a body has gone. */
function post(address: string, form: FormData, sent: (bytes: number) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("X-Stead-Panel", "1");
    request.upload.addEventListener("progress", (event) => sent(event.loaded));
    request.addEventListener("error", () => reject(new ApiFailure(0, {})));
    request.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300) return resolve();
      let body: Record<string, unknown> = {};
      try {
        body = JSON.parse(request.responseText) as Record<string, unknown>;
      } catch {
        // a refusal of something before the server
      }
      const headers = new Headers();
      for (const name of ["X-Request-Id", "Retry-After"]) {
        const value = request.getResponseHeader(name);
        if (value) headers.set(name, value);
      }
      reject(new ApiFailure(request.status, body, headers));
    });
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

async function send(uploads: Upload[], sent: (bytes: number) => void, signal: AbortSignal): Promise<void> {
  const [first] = uploads;
  if (!first) return;
  const form = new FormData();
  let directory = "";
  let overwrite: boolean | null = null;
  for (const upload of uploads) {
    // A field holds for the files after it.
    if (upload.directory !== directory) form.append("path", (directory = upload.directory));
    if (upload.overwrite !== overwrite) form.append("overwrite", String((overwrite = upload.overwrite)));
    if (upload.file) form.append("file", upload.file, upload.name);
  }
  const address = addressOf(`/api/v1/services/${first.service}/files/upload`);
  try {
    await post(address, form, sent, signal);
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== 401 || !expired.has(error.key)) throw error;
    sent(0);
    await session.restored();
    await post(address, form, sent, signal);
  }
}

/** The uploads of this window. */
export const uploads = new UploadQueue({
  send,
  makeFolder: async (upload, signal) => {
    const path = `${upload.directory === "/" ? "" : upload.directory}/${upload.name}`;
    await call(
      api.POST("/api/v1/services/{service}/files/directories", {
        params: { path: { service: upload.service } },
        body: { path },
        signal,
      }),
    );
  },
  changed: (service, directories) => {
    // A new file may have made the directories above it.
    const shown = new Set(directories.flatMap(ancestors));
    void queryClient.invalidateQueries({
      queryKey: ["service", service, "files"],
      predicate: (query) => shown.has(String(query.queryKey[3])),
    });
  },
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
});

/** A directory and all above it. */
function ancestors(path: string): string[] {
  const names = path.split("/").filter(Boolean);
  return ["/", ...names.map((_, at) => "/" + names.slice(0, at + 1).join("/"))];
}

uploads.subscribe(begin);

// Whoever closes the window while files are on their way is asked first.
addEventListener("beforeunload", (event) => {
  if (uploads.progress().busy) event.preventDefault();
});
