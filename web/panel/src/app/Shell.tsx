import {
  ActionIcon,
  Anchor,
  AppShell,
  Burger,
  Button,
  Container,
  Group,
  Menu,
  NavLink,
  Text,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconArrowLeft, IconHome, IconLanguage, IconMoonStars, IconSun, IconUserCircle } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useMatchRoute, useParams, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, type ReactNode } from "react";

import { leave } from "~/api/leave";
import { pageHeaders } from "~/api/page";
import { languages, setLanguage, useLang, type Lang } from "~/i18n/i18n";
import { refused } from "~/ui/notice";

import { boot, isOn } from "./boot";
import { Help, SearchEntry } from "./Help";
import { accountPages, profilePages, servicePages, type Entry } from "./navigation";
import { t } from "./texts";
import { useBegun } from "./uploads/begun";

const StaffMenu = lazy(() => import("./staffmenu/open").then((file) => file.menu()));
const ActingBar = lazy(() => import("./staffmenu/open").then((file) => file.acting()));
const Live = lazy(() => import("./live/Live").then((file) => ({ default: file.Live })));
const Announcements = lazy(() =>
  import("./announcements/Announcements").then((file) => ({ default: file.Announcements })),
);
const UploadTray = lazy(() => import("./uploads/UploadTray").then((file) => ({ default: file.UploadTray })));

/** The frame of all pages: head, menu, and the page itself. */
export function Shell({ children }: { children?: ReactNode }) {
  const [opened, { toggle, close }] = useDisclosure();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const params = useParams({ strict: false }) as { service?: string };
  const missing = useRouterState({ select: ({ matches }) => matches.some((match) => match.status === "notFound") });
  const service = boot.client ? String(boot.client.service) : missing ? undefined : params.service;
  const begun = useBegun();
  const onStaff = path === "/staff" || path.startsWith("/staff/");
  useEffect(close, [path, close]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 240, breakpoint: "md", collapsed: { mobile: !opened } }}
      padding={{ base: "md", md: "xl" }}
    >
      <a className="skip-link" href="#page">
        {t("skip")}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap" miw={0}>
            <Burger
              opened={opened}
              onClick={toggle}
              hiddenFrom="md"
              size="sm"
              aria-label={t(opened ? "menu.close" : "menu.open")}
            />
            <Text component={Link} to={onStaff ? "/staff/$" : "/"} fw={700} size="lg" c="inherit" td="none" truncate>
              {boot.logo ? <img src={boot.logo} alt={boot.company} className="logo" /> : boot.company}
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Help />
            <LanguageMenu />
            <SchemeButton />
            {boot.account && <AccountMenu />}
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" component="nav" aria-label={t("menu")}>
        <AppShell.Section grow className="menu">
          <SearchEntry />
          {onStaff ? (
            <Suspense>
              <StaffMenu />
            </Suspense>
          ) : service ? (
            <>
              <NavLink
                component={Link}
                to={boot.client ? "/" : "/services"}
                activeOptions={{ exact: true }}
                label={t(boot.client ? "nav.overview" : "nav.back")}
                leftSection={boot.client ? <IconHome size={18} aria-hidden /> : <IconArrowLeft size={18} aria-hidden />}
              />
              <Entries entries={servicePages} below={`/services/${service}`} />
            </>
          ) : path.startsWith("/account/") ? (
            <>
              <NavLink
                component={Link}
                to="/"
                activeOptions={{ exact: true }}
                label={t("nav.overview")}
                leftSection={<IconArrowLeft size={18} aria-hidden />}
              />
              <Entries entries={profilePages} below="" />
            </>
          ) : (
            <Entries entries={accountPages} below="" />
          )}
        </AppShell.Section>
        {boot.support && (
          <Text size="sm" p="sm" mt="auto">
            {t("support")} <Anchor href={`mailto:${boot.support}`}>{boot.support}</Anchor>
          </Text>
        )}
        <LegalLinks />
      </AppShell.Navbar>
      <AppShell.Main id="page" component="main">
        <Container size="xl" p={0}>
          {boot.account?.acting && (
            <Suspense>
              <ActingBar />
            </Suspense>
          )}
          {boot.account && !onStaff && isOn("account") && (
            <Suspense>
              <Announcements />
            </Suspense>
          )}
          {children}
        </Container>
      </AppShell.Main>
      <Suspense>
        <Live />
      </Suspense>
      {begun && (
        <Suspense>
          <UploadTray />
        </Suspense>
      )}
    </AppShell>
  );
}

const legal = ["terms", "privacy", "imprint"] as const;

function LegalLinks() {
  const given = legal.filter((page) => boot.legal[page]);
  if (given.length === 0) return null;
  return (
    <Group gap="sm" px="sm" pb="sm">
      {given.map((page) => (
        <Anchor key={page} size="xs" c="dimmed" href={boot.legal[page]} target="_blank" rel="noreferrer">
          {t(`legal.${page}`)}
        </Anchor>
      ))}
    </Group>
  );
}

function Entries({ entries, below }: { entries: Entry[]; below: string }) {
  const match = useMatchRoute();
  return entries
    .filter((entry) => !entry.section || isOn(entry.section))
    .filter(({ only }) => !(only === "owner" && boot.client) && !(only === "reseller" && !boot.account?.reseller))
    .map(({ to, label, icon: Shape }) => {
      const address = below + to || "/";
      const active = Boolean(match({ to: address, fuzzy: to !== "" && to !== "/" }));
      return (
        <NavLink
          key={to}
          component={Link}
          to={address}
          label={t(label)}
          leftSection={<Shape size={18} aria-hidden />}
          active={active}
          activeOptions={{ exact: to === "" || to === "/" }}
          aria-current={active ? "page" : undefined}
        />
      );
    });
}

function LanguageMenu() {
  const lang = useLang();
  const queries = useQueryClient();
  const choose = async (next: Lang) => {
    await fetch(`${boot.base}/?lang=${next}`, { headers: pageHeaders }); // the server remembers it
    await setLanguage(next);
    await queries.invalidateQueries(); // texts of the interface are in its answers
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="subtle" color="gray" px="xs" leftSection={<IconLanguage size={18} aria-hidden />}>
          <span className="visually-hidden">{t("language")}: </span>
          {lang.toUpperCase()}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {(Object.keys(languages) as Lang[]).map((code) => (
          <Menu.Item key={code} lang={code} onClick={() => void choose(code)} fw={code === lang ? 700 : undefined}>
            {languages[code]}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function SchemeButton() {
  const { colorScheme, toggleColorScheme } = useMantineColorScheme();
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" onClick={toggleColorScheme} aria-label={t("scheme")}>
      {colorScheme === "dark" ? <IconSun size={18} aria-hidden /> : <IconMoonStars size={18} aria-hidden />}
    </ActionIcon>
  );
}

function AccountMenu() {
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <Button variant="subtle" color="gray" px="xs" leftSection={<IconUserCircle size={20} aria-hidden />}>
          <Text span size="sm" visibleFrom="sm">
            {boot.account?.name || boot.account?.email}
          </Text>
          <span className="visually-hidden">{t("account")}</span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{boot.account?.email}</Menu.Label>
        {boot.account?.role && (
          <Menu.Item component={Link} to="/staff/$">
            {t("nav.staff")}
          </Menu.Item>
        )}
        {profilePages
          .filter(({ section }) => !section || isOn(section))
          .map(({ to, label }) => (
            <Menu.Item key={to} component={Link} to={to}>
              {t(label)}
            </Menu.Item>
          ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>{t("sign_out")}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

async function signOut() {
  if (!(await leave("/logout", "/"))) refused(t("sign_out.failed"));
}
