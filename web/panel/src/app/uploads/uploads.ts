import { addressOf, api, call } from "~/api/client";
import { postWithProgress } from "~/api/progress";
import { unsaved } from "~/api/unsaved";
import { queryClient } from "~/app/queries";

import { begin } from "./begun";
import { UploadQueue, type Upload } from "./queue";
import { isSameContent } from "./same";

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
  await postWithProgress(address, form, sent, signal);
}

/** Above this size a person decides: what is there would have to come back whole. */
const largestCompared = 64 << 20;

async function isSame(upload: Upload, signal: AbortSignal): Promise<boolean> {
  const { file } = upload;
  if (!file || file.size > largestCompared) return false;
  const there = await call(
    api.GET("/api/v1/services/{service}/files/download", {
      params: { path: { service: upload.service }, query: { path: pathOf(upload) } },
      parseAs: "stream",
      signal,
    }),
  );
  return isSameContent(file, there);
}

const pathOf = (upload: Upload) => `${upload.directory === "/" ? "" : upload.directory}/${upload.name}`;

/** The uploads of this window. */
export const uploads = new UploadQueue({
  send,
  isSame,
  makeFolder: async (upload, signal) => {
    await call(
      api.POST("/api/v1/services/{service}/files/directories", {
        params: { path: { service: upload.service } },
        body: { path: pathOf(upload) },
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

unsaved.add({ hasAny: () => uploads.isBusy(), discard: () => uploads.cancel() });

// Whoever closes the window while files are on their way is asked first.
addEventListener("beforeunload", (event) => {
  if (uploads.isBusy()) event.preventDefault();
});
