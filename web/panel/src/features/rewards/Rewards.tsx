import {
  Button,
  Group,
  Progress,
  Rating,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
  VisuallyHidden,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { boot, isOn } from "~/app/boot";
import { money, number, percent } from "~/i18n/formats";
import { currentLang } from "~/i18n/i18n";
import { Confirm } from "~/ui/Confirm";
import { Copy } from "~/ui/Copy";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { SectionCard } from "~/ui/SectionCard";
import { Status } from "~/ui/Status";

import { deleteReview, loyalty, referral, review, writeReview, type Loyalty, type Review } from "./api";
import { t } from "./texts";

/** What the company gives back: for what was bought, for whom one brings, and a word about how it was. */
export function Rewards() {
  const tiers = useQuery(loyalty);
  const link = useQuery(referral);
  const own = useQuery({ ...review, enabled: isOn("content") });
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <Stack gap="lg">
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <SectionCard id="rewards-loyalty" title={t("loyalty")}>
            <Load query={tiers}>{(data) => <Tier loyalty={data} />}</Load>
          </SectionCard>
          <SectionCard id="rewards-referral" title={t("referral")}>
            <Load query={link}>
              {(data) => (
                <Stack gap="sm">
                  <Text>
                    {data.reward_max
                      ? t("referral.max", {
                          share: percent(data.reward_basis_points / 10_000, 2),
                          most: money(data.reward_max),
                        })
                      : t("referral.text", { share: percent(data.reward_basis_points / 10_000, 2) })}
                  </Text>
                  <div>
                    <Copy value={data.share_link} label={t("referral.link")} />
                  </div>
                  <Text size="sm">
                    {t("referral.numbers", {
                      registered: number(data.statistics.registered),
                      converted: number(data.statistics.converted),
                      earned: money(data.statistics.earned),
                    })}
                  </Text>
                </Stack>
              )}
            </Load>
          </SectionCard>
        </SimpleGrid>
        {isOn("content") && (
          <SectionCard id="rewards-review" title={t("review")} maw={720}>
            <Load query={own}>{(data) => <ReviewForm key={data?.updated_at ?? ""} review={data} />}</Load>
          </SectionCard>
        )}
      </Stack>
    </>
  );
}

function Tier({ loyalty }: { loyalty: Loyalty }) {
  const { tier, next_tier: next, remaining, spent, days_to_next: days } = loyalty;
  const share = (points: number) => percent(points / 10_000, 2);
  return (
    <Stack gap="sm">
      <Text fw={700} size="lg">
        {tier.name}
      </Text>
      <Text>{t("loyalty.cashback", { share: share(tier.cashback_basis_points) })}</Text>
      <Text size="sm" c="dimmed">
        {t("loyalty.spent", { amount: money(spent) })}
      </Text>
      {next && remaining && (
        <>
          <Progress
            value={next.from.usd_cents > 0 ? Math.min(100, (spent.usd_cents / next.from.usd_cents) * 100) : 100}
            aria-label={t("loyalty.next", {
              tier: next.name,
              amount: money(remaining),
              share: share(next.cashback_basis_points),
            })}
          />
          <Text size="sm">
            {t("loyalty.next", {
              tier: next.name,
              amount: money(remaining),
              share: share(next.cashback_basis_points),
            })}{" "}
            {days !== null && t("loyalty.days", { count: days })}
          </Text>
        </>
      )}
    </Stack>
  );
}

const tones = { pending: "busy", approved: "good", rejected: "bad" } as const;

function ReviewForm({ review }: { review: Review | null }) {
  const queries = useQueryClient();
  const [rating, setRating] = useState(review?.rating ?? 0);
  const form = useForm({
    mode: "uncontrolled",
    initialValues: {
      author: review?.author ?? boot.account?.name ?? "",
      title: review?.title ?? "",
      body: review?.body ?? "",
    },
    validate: {
      author: (value) => (value.trim() ? null : t("review.needed")),
      title: (value) => (value.trim() ? null : t("review.needed")),
      body: (value) => (value.trim() ? null : t("review.needed")),
    },
  });
  const changed = () => queries.invalidateQueries({ queryKey: ["review"] });
  const { submit, error } = useSubmit(form, async (values) => {
    await writeReview({ ...values, rating: rating || 5, locale: review?.locale ?? currentLang() });
    await changed();
    done(t("review.sent"));
  });
  return (
    <Stack gap="sm">
      <form onSubmit={submit} noValidate>
        <Stack gap="sm">
          {review ? (
            <Group>
              <Status tone={tones[review.status]} label={t(`review.${review.status}`)} />
              {review.reason && <Text size="sm">{review.reason}</Text>}
            </Group>
          ) : (
            <Text size="sm">{t("review.text")}</Text>
          )}
          <div role="group" aria-label={t("review.rating")}>
            <Text size="sm" fw={600} aria-hidden>
              {t("review.rating")}
            </Text>
            <Rating
              value={rating}
              onChange={setRating}
              size="lg"
              getSymbolLabel={(value) => t("review.stars", { count: value })}
            />
            <VisuallyHidden aria-live="polite">{rating > 0 && t("review.stars", { count: rating })}</VisuallyHidden>
          </div>
          <TextInput
            label={t("review.author")}
            autoComplete="name"
            key={form.key("author")}
            {...form.getInputProps("author")}
          />
          <TextInput
            label={t("review.title")}
            autoComplete="off"
            key={form.key("title")}
            {...form.getInputProps("title")}
          />
          <Textarea
            label={t("review.body")}
            autosize
            minRows={3}
            maxRows={12}
            key={form.key("body")}
            {...form.getInputProps("body")}
          />
          <ErrorNote error={error} />
          <Group>
            <Button type="submit" loading={form.submitting} disabled={rating === 0}>
              {t("review.send")}
            </Button>
          </Group>
        </Stack>
      </form>
      {review && (
        <Group>
          <Confirm
            label={t("review.delete")}
            title={t("review.delete")}
            text={t("review.delete_text")}
            action={async () => {
              await deleteReview();
              await changed();
            }}
          />
        </Group>
      )}
    </Stack>
  );
}
