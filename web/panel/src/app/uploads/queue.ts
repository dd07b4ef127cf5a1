import { ApiFailure } from "~/api/failure";

type UploadState = "waiting" | "sending" | "paused" | "done" | "failed";

/** A file on its way to a service, or an empty folder to be made there. */
export interface Upload {
  readonly id: number;
  readonly service: number;
  /** Path of the directory, from the home. */
  readonly directory: string;
  readonly name: string;
  readonly size: number;
  /** Null for a folder, and when the upload is over. */
  file: File | null;
  folder: boolean;
  overwrite: boolean;
  state: UploadState;
  sent: number;
  attempts: number;
  /** Sent in a request of its own, because a request with others was refused. */
  alone: boolean;
  /** The answer to a request with it was lost, or nobody waited for it: it may have been stored. */
  lost: boolean;
  error: unknown;
}

export type NewUpload = Pick<Upload, "service" | "directory" | "name" | "overwrite"> & { file: File | null };

/** What the queue needs of the world. */
export interface Transport {
  /** Sends files in one request, in their order; `sent` is told how many bytes of them have gone. */
  send(uploads: Upload[], sent: (bytes: number) => void, signal: AbortSignal): Promise<void>;
  makeFolder(upload: Upload, signal: AbortSignal): Promise<void>;
  /** Whether the file that is there has the content of the upload's. */
  isSame(upload: Upload, signal: AbortSignal): Promise<boolean>;
  /** Something in these directories has changed. */
  changed(service: number, directories: string[]): void;
  wait(milliseconds: number): Promise<void>;
}

export interface Progress {
  /** Bytes and files of everything that was neither cancelled nor failed. */
  total: number;
  sent: number;
  files: number;
  done: number;
  failed: number;
  paused: number;
  /** Those of the failed that would replace a file. */
  existing: number;
  /** Whether something is waiting or being sent. */
  busy: boolean;
  /** Those that people want to see: failed, being sent, paused, and the next ones. */
  shown: Upload[];
}

const parallel = 4;
/** Files up to this size share a request. */
const small = 1 << 20;
const largestBatch = 8 << 20;
const mostInBatch = 100;
const mostAttempts = 5;
const mostShown = 60;

/** Refusals after which no other file of the service can succeed either. */
const hopeless = new Set(["disk_full", "limit_reached", "service_suspended", "service_not_active", "section_disabled"]);

const isTransient = (error: unknown) =>
  error instanceof ApiFailure &&
  (error.status === 0 || error.status === 429 || error.status >= 502 || error.key === "panel_busy");

const isExisting = (error: unknown) => error instanceof ApiFailure && error.key === "already_exists";

const isThere = (upload: Upload) => isExisting(upload.error);

/** How many files of a request were stored before it was refused; null when nobody knows, because the answer was lost. */
function storedBefore(error: unknown): number | null {
  if (!(error instanceof ApiFailure)) return null;
  if (typeof error.details.stored === "number") return error.details.stored;
  return error.status === 0 || error.status >= 500 ? null : 0;
}

/**
 * Marks what may have been stored by a request whose answer is lost. How much was sent does not matter: a browser counts what
 * it has handed to the socket, and tells it only now and then.
 */
function lose(request: Upload[]) {
  for (const upload of request) upload.lost = true;
}

/**
 * Uploads files, several at a time. It lives outside of the pages, so moving between them stops nothing. Small files
 * share requests. The interface stores a file whole or not at all, so a file that was interrupted begins anew.
 */
export class UploadQueue {
  private uploads: Upload[] = [];
  private running = new Map<AbortController, Upload[]>();
  private listeners = new Set<() => void>();
  private next = 1;
  private held = 0;
  private snapshot: Progress | null = null;
  private changed = new Map<number, Set<string>>();
  private telling = false;

  constructor(private transport: Transport) {}

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Whether something is waiting or being sent at this moment; `progress` tells it a little later. */
  isBusy = () => this.uploads.some((upload) => upload.state === "waiting" || upload.state === "sending");

  progress = (): Progress => (this.snapshot ??= this.measure());

  add(uploads: NewUpload[]) {
    for (const upload of uploads) {
      this.uploads.push({
        ...upload,
        id: this.next++,
        size: upload.file?.size ?? 0,
        folder: upload.file === null,
        state: "waiting",
        sent: 0,
        attempts: 0,
        alone: false,
        lost: false,
        error: null,
      });
    }
    this.run();
  }

  /** Stops what matches; what was being sent begins anew when it is resumed. */
  pause(match: (upload: Upload) => boolean = () => true) {
    this.stop(match, (upload) => (upload.state = "paused"));
  }

  resume(match: (upload: Upload) => boolean = () => true) {
    for (const upload of this.uploads) if (upload.state === "paused" && match(upload)) upload.state = "waiting";
    this.run();
  }

  /** Tries again what failed for another reason than a file that is there. */
  retry(match: (upload: Upload) => boolean = () => true) {
    this.again((upload) => !isThere(upload) && match(upload), {});
  }

  /** Sends again what was refused because a file is there, to replace it. Only a person decides that. */
  replace(match: (upload: Upload) => boolean = () => true) {
    this.again((upload) => isThere(upload) && match(upload), { overwrite: true });
  }

  private again(match: (upload: Upload) => boolean, more: Partial<Upload>) {
    for (const upload of this.uploads) {
      if (upload.state !== "failed" || !match(upload)) continue;
      Object.assign(upload, { state: "waiting", error: null, attempts: 0, ...more });
    }
    this.run();
  }

  cancel(match: (upload: Upload) => boolean = () => true) {
    const gone = new Set(this.uploads.filter((upload) => upload.state !== "done" && match(upload)));
    this.stop(
      (upload) => gone.has(upload),
      (upload) => (upload.state = "paused"),
    );
    this.uploads = this.uploads.filter((upload) => !gone.has(upload));
    this.run();
  }

  /** Forgets what is over. */
  clear() {
    this.uploads = this.uploads.filter((upload) => upload.state !== "done" && upload.state !== "failed");
    this.tell();
  }

  private stop(match: (upload: Upload) => boolean, then: (upload: Upload) => void) {
    for (const upload of this.uploads) {
      if (upload.state === "waiting" && match(upload)) then(upload);
    }
    for (const [controller, batch] of this.running) {
      if (!batch.some(match)) continue;
      this.running.delete(controller);
      lose(batch);
      for (const upload of batch) {
        this.reset(upload);
        if (match(upload)) then(upload);
      }
      controller.abort();
    }
    this.run();
  }

  /** Puts an upload back into the queue. */
  private reset(upload: Upload) {
    upload.state = "waiting";
    upload.sent = 0;
  }

  private run() {
    while (this.running.size < parallel && this.held === 0) {
      const batch = this.take();
      if (batch.length === 0) break;
      void this.send(batch);
    }
    this.tell();
  }

  private take(): Upload[] {
    const batch: Upload[] = [];
    let size = 0;
    for (const upload of this.uploads) {
      if (upload.state !== "waiting") continue;
      const single = upload.folder || upload.alone || upload.size > small;
      if (batch.length === 0 && single) return [upload];
      if (single || (batch[0] && batch[0].service !== upload.service)) continue;
      if (size + upload.size > largestBatch || batch.length === mostInBatch) break;
      batch.push(upload);
      size += upload.size;
    }
    return batch;
  }

  private async send(batch: Upload[]) {
    const controller = new AbortController();
    this.running.set(controller, batch);
    for (const upload of batch) upload.state = "sending";
    const [first] = batch;
    let failure: unknown = null;
    try {
      if (first?.folder) await this.transport.makeFolder(first, controller.signal);
      else await this.transport.send(batch, (bytes) => this.share(batch, bytes), controller.signal);
    } catch (error) {
      failure = (await this.hasArrived(batch, error, controller.signal)) ? null : error;
    }
    if (!this.running.delete(controller)) return; // paused or cancelled meanwhile
    if (failure === null) batch.forEach((upload) => this.finish(upload));
    else this.fail(batch, failure);
    this.run();
  }

  /** Whether a file was refused because an earlier request, whose answer was lost, has stored it. Otherwise a person decides. */
  private async hasArrived([upload, ...others]: Upload[], error: unknown, signal: AbortSignal): Promise<boolean> {
    if (!upload?.lost || upload.folder || others.length > 0 || !isExisting(error)) return false;
    return this.transport.isSame(upload, signal).catch(() => false);
  }

  private finish(upload: Upload) {
    upload.state = "done";
    upload.sent = upload.size;
    upload.file = null;
    this.note(upload);
  }

  /** Shares the bytes of a request out among its files, in their order. */
  private share(batch: Upload[], bytes: number) {
    for (const upload of batch) {
      upload.sent = Math.min(upload.size, Math.max(0, bytes));
      bytes -= upload.size;
    }
    this.tell();
  }

  private fail(request: Upload[], error: unknown) {
    const stored = storedBefore(error);
    if (stored === null) lose(request);
    request.slice(0, stored ?? 0).forEach((upload) => this.finish(upload));
    const batch = request.slice(stored ?? 0);
    if (isTransient(error) && batch.every((upload) => upload.attempts + 1 < mostAttempts)) {
      const attempts = Math.max(...batch.map((upload) => ++upload.attempts));
      batch.forEach((upload) => this.reset(upload));
      const after = error instanceof ApiFailure ? error.retryAfter : null;
      this.held++;
      void this.transport.wait(after ? after * 1000 : 1000 * 2 ** (attempts - 1)).then(() => {
        this.held--;
        this.run();
      });
      return;
    }
    if (batch.length > 1) {
      // Each file is judged by itself.
      for (const upload of batch) {
        this.reset(upload);
        upload.alone = true;
      }
      return;
    }
    for (const upload of batch) Object.assign(upload, { state: "failed", sent: 0, error });
    if (error instanceof ApiFailure && hopeless.has(error.key)) {
      for (const upload of this.uploads) {
        if (upload.state === "waiting" && upload.service === batch[0]?.service) {
          Object.assign(upload, { state: "failed", error });
        }
      }
    }
  }

  private note(upload: Upload) {
    const directories = this.changed.get(upload.service) ?? new Set<string>();
    directories.add(upload.directory);
    this.changed.set(upload.service, directories);
  }

  /** Progress comes many times a second; people and pages hear of it four times. */
  private tell() {
    if (this.telling) return;
    this.telling = true;
    this.publish();
    void this.transport.wait(250).then(() => {
      this.telling = false;
      this.publish();
    });
  }

  private publish() {
    this.snapshot = null;
    for (const [service, directories] of this.changed) this.transport.changed(service, [...directories]);
    this.changed.clear();
    this.listeners.forEach((listener) => listener());
  }

  private measure(): Progress {
    const progress: Progress = {
      total: 0,
      sent: 0,
      files: 0,
      done: 0,
      failed: 0,
      existing: 0,
      paused: 0,
      busy: false,
      shown: [],
    };
    const groups: Record<UploadState, Upload[]> = { failed: [], sending: [], paused: [], waiting: [], done: [] };
    for (const upload of this.uploads) {
      groups[upload.state].push(upload);
      if (upload.state === "failed") {
        progress.failed++;
        if (isThere(upload)) progress.existing++;
        continue; // the bar shows what will arrive
      }
      progress.files++;
      progress.total += upload.size;
      progress.sent += upload.sent;
      if (upload.state === "done") progress.done++;
      else if (upload.state === "paused") progress.paused++;
      else progress.busy = true;
    }
    progress.shown = Object.values(groups)
      .flatMap((group) => group.slice(0, mostShown))
      .slice(0, mostShown)
      .map((upload) => ({ ...upload }));
    return progress;
  }
}
