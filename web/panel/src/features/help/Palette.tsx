import "@mantine/spotlight/styles.layer.css";

import { Spotlight, spotlight, type SpotlightActionGroupData } from "@mantine/spotlight";
import { useDebouncedValue } from "@mantine/hooks";
import { IconBook, IconLifebuoy, IconSearch, IconServer, IconSparkles, IconWorld } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { boot, isOn } from "~/app/boot";
import type { Entry, Pages } from "~/app/navigation";
import { inLang } from "~/i18n/formats";

import { articleAddress, articles, domainsLike, servicesLike } from "./api";
import { matches } from "./match";
import { t } from "./texts";

const isOpen = (entry: Entry) => (!entry.section || isOn(entry.section)) && !(entry.only === "owner" && boot.client);

/** Finds pages, what the customer has, and articles; and asks the assistant or people. `opening` opens it, again when it changes. */
export function Palette({
  opening,
  pages: { accountPages, servicePages },
  label,
  service,
  onAsk,
}: {
  opening: number;
  /** Given, and not imported: else the menu's icons were loaded one by one. */
  pages: Pages;
  label: (text: Entry["label"]) => string;
  service?: string;
  onAsk: (question: string) => void;
}) {
  const [query, setQuery] = useState("");
  const [sought] = useDebouncedValue(query.trim(), 150);
  const router = useRouter();
  useEffect(() => spotlight.open(), [opening]);

  const mine = !boot.client;
  const { data: services } = useQuery({ ...servicesLike(sought), enabled: mine && isOn("services") });
  const { data: domains } = useQuery({ ...domainsLike(sought), enabled: mine && isOn("domains") && sought !== "" });
  const { data: found } = useQuery({ ...articles(sought), enabled: mine && isOn("content") && sought.length > 1 });

  const go = (path: string) => router.history.push(boot.base + path);
  const current = boot.client ? String(boot.client.service) : service;
  const page = (entry: Entry, below: string) => ({
    id: below + entry.to,
    label: label(entry.label),
    leftSection: <entry.icon size={18} aria-hidden />,
    onClick: () => go(below + entry.to),
  });
  const shown = (entry: Entry) => isOpen(entry) && matches(query, [label(entry.label)]);
  // Until the interface has answered, its answer to what was typed before is there.
  const named = (names: (string | null | undefined)[]) =>
    names.some((name) => name?.toLowerCase().includes(query.trim().toLowerCase()));
  const groups: SpotlightActionGroupData[] = [];
  const add = (group: string, actions: SpotlightActionGroupData["actions"]) => {
    if (actions.length > 0) groups.push({ group, actions });
  };
  if (current)
    add(
      t("group.service"),
      servicePages.filter(shown).map((entry) => page(entry, `/services/${current}`)),
    );
  if (mine) {
    add(
      t("group.pages"),
      accountPages.filter(shown).map((entry) => page(entry, "")),
    );
    add(
      t("group.services"),
      (services?.data ?? [])
        .filter((one) => named([one.label, one.domain, one.unicode_domain]))
        .map((one) => ({
          id: `service-${one.id}`,
          label: one.unicode_domain ?? one.label,
          description: one.plan.name,
          leftSection: <IconServer size={18} aria-hidden />,
          onClick: () => go(`/services/${one.id}`),
        })),
    );
    if (query)
      add(
        t("group.domains"),
        (domains?.data ?? [])
          .filter((one) => named([one.name, one.unicode_name]))
          .map((one) => ({
            id: `domain-${one.id}`,
            label: one.name,
            leftSection: <IconWorld size={18} aria-hidden />,
            onClick: () => go(`/domains/${one.id}`),
          })),
      );
    if (query)
      add(
        t("group.articles"),
        (found?.data ?? []).map((one) => ({
          id: `article-${one.slug}`,
          label: inLang(one.title),
          description: inLang(one.description),
          leftSection: <IconBook size={18} aria-hidden />,
          onClick: () => window.open(articleAddress(one.slug), "_blank", "noreferrer"),
        })),
      );
    const people = [
      ...(isOn("ai") && query.trim()
        ? [
            {
              id: "ask",
              label: t("ask.this", { question: query.trim() }),
              leftSection: <IconSparkles size={18} aria-hidden />,
              onClick: () => onAsk(query.trim()),
            },
          ]
        : []),
      ...(isOn("account")
        ? [
            {
              id: "support",
              label: t("support"),
              leftSection: <IconLifebuoy size={18} aria-hidden />,
              onClick: () => go(`/support/new${service ? `?service=${service}` : ""}`),
            },
          ]
        : []),
    ];
    add(t("group.help"), people);
  }
  // Spotlight selects the first one while the next are on their way: what has come since must be there for Enter, too.
  const ids = groups.flatMap((group) => group.actions.map((one) => one.id)).join();
  useEffect(() => {
    const list = document.querySelector(".mantine-Spotlight-actionsList");
    if (query && list && !list.querySelector("[data-selected]"))
      list.querySelector("[data-action]")?.setAttribute("data-selected", "true");
  }, [ids, query]);
  return (
    <Spotlight
      actions={groups}
      filter={(_, actions) => actions} // what does not match is left out above, by what the interface finds
      query={query}
      onQueryChange={setQuery}
      shortcut={null}
      scrollable
      maxHeight="60vh"
      nothingFound={t("nothing")}
      searchProps={{
        leftSection: <IconSearch size={18} aria-hidden />,
        placeholder: t(mine ? "search.all" : "search.pages"),
        "aria-label": t(mine ? "search.all" : "search.pages"),
      }}
    />
  );
}
