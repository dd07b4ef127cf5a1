import { Stack } from "@mantine/core";
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { inLang } from "~/i18n/formats";
import { Banner } from "~/ui/Banner";
import { failed } from "~/ui/notice";

import { boot } from "../boot";
import { t } from "../texts";

const announcements = queryOptions({
  queryKey: ["announcements"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/announcements", { signal })),
  staleTime: 60_000,
  refetchInterval: 300_000,
});

/** What the company announces, over the pages of customers. A dismissed one stays away on all devices. */
export function Announcements() {
  const queries = useQueryClient();
  const { data } = useQuery(announcements);
  const dismiss = useMutation({
    mutationFn: (id: number) =>
      call(api.POST("/api/v1/announcements/{announcement}/dismiss", { params: { path: { announcement: id } } })),
    onMutate: async (id) => {
      await queries.cancelQueries(announcements);
      queries.setQueryData(announcements.queryKey, (old) => old && { data: old.data.filter((one) => one.id !== id) });
      document.getElementById("page")?.querySelector<HTMLElement>("h1")?.focus(); // the button is gone
    },
    onError: failed,
    onSettled: () => queries.invalidateQueries(announcements),
  });
  if (!data?.data.length) return null;
  return (
    <Stack component="section" aria-label={t("announcements")} gap="sm" mb="md">
      {data.data.map((one) => (
        <Banner
          key={one.id}
          level={one.level}
          title={inLang(one.title)}
          body={inLang(one.body)}
          link={one.link}
          onDismiss={boot.account?.acting ? undefined : () => dismiss.mutate(one.id)}
        />
      ))}
    </Stack>
  );
}
