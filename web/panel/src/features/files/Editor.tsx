import { openSearchPanel } from "@codemirror/search";
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { Alert, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { IconDeviceFloppy, IconDownload, IconExternalLink, IconSearch } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState } from "react";

import { ApiFailure } from "~/api/failure";
import { unsaved } from "~/api/unsaved";
import { bytes } from "~/i18n/formats";
import { Load } from "~/ui/Load";
import { done, failed } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";

import { downloadOf, opened, readFile, site, writeFile, type Content } from "./api";
import { basics, languageOf, merging } from "./codemirror";
import classes from "./Editor.module.css";
import { Crumbs } from "./Files";
import { keepMixed, separatorOf, textOf } from "./lines";
import { baseName, parent } from "./paths";
import { t } from "./texts";

/** Texts that were written and not saved, by service and path: they outlive the page when the language changes. */
const drafts = new Map<string, { text: string; etag: string }>();

unsaved.add({ hasAny: () => drafts.size > 0, discard: () => drafts.clear() });

/** A version of the file, with what separates its lines. */
const version = (text: string, etag: string) => ({ text, etag, separator: separatorOf(text) });

/** The editor of a text. */
export function Editor({ service, path, line }: { service: number; path: string; line?: number }) {
  const query = useQuery(opened(service, path));
  const name = baseName(path);
  const download = (
    <Button
      variant="default"
      component="a"
      href={downloadOf(service, path)}
      download
      leftSection={<IconDownload size={16} aria-hidden />}
    >
      {t("download")}
    </Button>
  );
  return (
    <Load query={query}>
      {(content) =>
        content.encoding !== "utf-8" || content.truncated ? (
          <>
            <PageHeader title={name} actions={download} />
            <Crumbs service={service} path={parent(path)} last={<Text fw={600}>{name}</Text>} />
            <Alert mt="md" color="blue" title={t(content.truncated ? "editor.large" : "editor.binary")}>
              {t("editor.download", { size: bytes(content.size_bytes) })}
            </Alert>
          </>
        ) : (
          <TextEditor key={path} service={service} path={path} line={line} content={content} download={download} />
        )
      }
    </Load>
  );
}

function TextEditor({
  service,
  path,
  line,
  content,
  download,
}: {
  service: number;
  path: string;
  line?: number;
  content: Content;
  download: React.ReactNode;
}) {
  const name = baseName(path);
  const key = `${service}:${path}`;
  const queries = useQueryClient();
  const { data: home } = useQuery(site(service));
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const [saved, setSaved] = useState(() => version(content.content, content.etag));
  const [dirty, setDirty] = useState(drafts.has(key));
  const [busy, setBusy] = useState(false);
  const [theirs, setTheirs] = useState<Content | null>(null);
  const base = useRef(saved);

  useEffect(() => {
    let gone = false;
    const draft = drafts.get(key);
    if (draft) base.current = { ...base.current, etag: draft.etag };
    void languageOf(name)
      .catch(() => null) // without colours one can write as well
      .then((language) => {
        if (gone || !place.current) return;
        const doc = draft?.text ?? base.current.text;
        const view = new EditorView({
          parent: place.current,
          state: EditorState.create({
            doc,
            extensions: [
              keepMixed(doc),
              basics(t("editor.label", { name }), language),
              EditorView.updateListener.of((update) => {
                if (!update.docChanged) return;
                const text = textOf(update.state, base.current.separator);
                const changed = text !== base.current.text;
                if (changed) drafts.set(key, { text, etag: base.current.etag });
                else drafts.delete(key);
                setDirty(changed);
              }),
            ],
          }),
        });
        editor.current = view;
        if (line) {
          const at = view.state.doc.line(Math.min(line, view.state.doc.lines)).from;
          view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
        }
        view.focus();
      });
    return () => {
      gone = true;
      editor.current?.destroy();
      editor.current = null;
    };
  }, [key, name, line]);

  const settle = useCallback(
    (text: string, etag: string) => {
      base.current = version(text, etag);
      // An editor that is drawn anew, in another language, begins with what stands in the file now.
      queries.setQueryData(opened(service, path).queryKey, (before) => before && { ...before, content: text, etag });
      setSaved(base.current);
      const now = editor.current && textOf(editor.current.state, base.current.separator);
      const changed = now !== null && now !== text; // typed while it was being saved
      if (changed) drafts.set(key, { text: now, etag });
      else drafts.delete(key);
      setDirty(changed);
      setTheirs(null);
      editor.current?.dispatch({ effects: merging.reconfigure([]) });
    },
    [key, path, queries, service],
  );

  const save = useCallback(async () => {
    const view = editor.current;
    if (!view || busy) return;
    const text = textOf(view.state, base.current.separator);
    setBusy(true);
    try {
      const entry = await writeFile(service, path, text, base.current.etag);
      settle(text, entry.etag ?? "");
      void queries.invalidateQueries({ queryKey: ["service", service, "files", parent(path)] });
      done(t("editor.saved", { name }));
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.key !== "etag_mismatch") {
        failed(error);
        return;
      }
      try {
        // Somebody else has written meanwhile: show the difference, and let the next save replace what was seen.
        const other = await readFile(service, path);
        base.current = version(other.content, other.etag);
        drafts.set(key, { text, etag: other.etag });
        setTheirs(other);
        view.dispatch({
          effects: merging.reconfigure(unifiedMergeView({ original: other.content, mergeControls: true })),
        });
      } catch (failure) {
        failed(failure);
      }
    } finally {
      setBusy(false);
    }
  }, [busy, key, name, path, queries, service, settle]);

  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s" || event.altKey) return;
      event.preventDefault();
      void save();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [save]);

  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => dirty && current.pathname !== next.pathname,
    enableBeforeUnload: () => drafts.has(key),
    withResolver: true,
  });
  const address = addressOfFile(home?.origin_url ?? null, path);
  return (
    <div className={classes.page}>
      <PageHeader
        title={name}
        actions={
          <>
            <Button
              variant="default"
              leftSection={<IconSearch size={16} aria-hidden />}
              onClick={() => editor.current && openSearchPanel(editor.current)}
            >
              {t("editor.search")}
            </Button>
            {download}
            {address && (
              <Button
                variant="default"
                component="a"
                href={address}
                target="_blank"
                rel="noreferrer"
                leftSection={<IconExternalLink size={16} aria-hidden />}
              >
                {t("editor.show")}
              </Button>
            )}
            <Button
              leftSection={<IconDeviceFloppy size={16} aria-hidden />}
              onClick={() => void save()}
              loading={busy}
              disabled={!dirty && !theirs}
            >
              {t("editor.save")}
            </Button>
          </>
        }
      />
      <Crumbs service={service} path={parent(path)} last={<Text fw={600}>{name}</Text>} />
      {theirs && (
        <Alert color="orange" mt="sm" role="alert" title={t("editor.conflict")}>
          <Stack gap="xs">
            <Text size="sm">{t("editor.conflict_text")}</Text>
            <Group gap="xs">
              <Button size="xs" onClick={() => void save()} loading={busy}>
                {t("editor.mine")}
              </Button>
              <Button
                size="xs"
                variant="default"
                onClick={() => {
                  const view = editor.current;
                  if (!view) return;
                  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: theirs.content } });
                  settle(theirs.content, theirs.etag);
                }}
              >
                {t("editor.theirs")}
              </Button>
            </Group>
          </Stack>
        </Alert>
      )}
      <div ref={place} className={classes.editor} />
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed">
          {t("editor.keys")}
        </Text>
        <Text size="xs" c="dimmed" role="status">
          {t(dirty ? "editor.dirty" : "editor.clean")}
        </Text>
      </Group>
      <Modal opened={blocker.status === "blocked"} onClose={() => blocker.reset?.()} title={t("editor.leave")}>
        <Stack>
          <Text>{t("editor.leave_text", { name })}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => blocker.reset?.()}>
              {t("editor.stay")}
            </Button>
            <Button
              color="red"
              onClick={() => {
                drafts.delete(key);
                blocker.proceed?.();
              }}
            >
              {t("editor.discard")}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </div>
  );
}

/** Where visitors find a file of the site; null for what is not served, and for programs' own parts. */
function addressOfFile(origin: string | null, path: string): string | null {
  const root = "/public_html/";
  if (!origin || !path.startsWith(root)) return null;
  const address = path.slice(root.length).split("/").map(encodeURIComponent).join("/");
  return origin.replace(/\/$/, "") + "/" + address;
}
