import { Card, Group, Stack, Text, Title } from "@mantine/core";
import { IconStar } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { Filter } from "~/ui/staff/Filter";
import { numberIn, oneIn, type StaffPage } from "~/ui/staff/page";
import { t as shared } from "~/ui/staff/texts";
import { When } from "~/ui/When";

import { decideReview, reviews, reviewStatuses, type Review } from "./api";
import { t } from "./texts";

/** What customers say, before it is published. */
export function Reviews({ search: raw, onSearch }: StaffPage) {
  const search = { page: numberIn(raw.page), status: oneIn(raw.status, reviewStatuses) ?? "pending" };
  const query = useQuery(reviews(search));
  return (
    <>
      <PageHeader title={t("reviews.title")} description={t("reviews.description")} />
      <Stack>
        <Filter
          label={shared("column.status")}
          value={search.status}
          options={reviewStatuses.map((one) => [one, t(`review.${one}`)] as const)}
          onChange={(status) => onSearch({ status })}
        />
        <Load query={query}>
          {({ data, meta }) =>
            data.length === 0 ? (
              <Empty icon={IconStar} title={t("reviews.none")} />
            ) : (
              <>
                {data.map((review) => (
                  <ReviewCard key={review.id} review={review} />
                ))}
                <Pager meta={meta} onChange={(page) => onSearch({ ...search, page })} />
              </>
            )
          }
        </Load>
      </Stack>
    </>
  );
}

function ReviewCard({ review }: { review: Review }) {
  const changed = useChanged();
  const decide = async (approve: boolean, reason?: string) => {
    await decideReview(review.id, { version: review.version, approve, reason });
    await changed(t(approve ? "reviews.approved" : "reviews.rejected"));
  };
  return (
    <Card withBorder component="article" aria-label={review.title}>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          {review.title}
        </Title>
        <Text>{t("reviews.rating", { count: review.rating })}</Text>
      </Group>
      <Text style={{ whiteSpace: "pre-wrap" }} lang={review.locale}>
        {review.body}
      </Text>
      <Text size="sm" c="dimmed" mt="xs">
        {review.author}, <When time={review.updated_at} />{" "}
        {review.account_id ? <CustomerLink id={review.account_id} /> : null}
      </Text>
      {review.reason && <Text size="sm">{review.reason}</Text>}
      <Group mt="sm">
        {review.status !== "approved" && (
          <Act
            operation="staff.reviews.decide"
            label={t("reviews.approve")}
            text={t("reviews.approve.text")}
            act={() => decide(true)}
          />
        )}
        {review.status !== "rejected" && (
          <Act
            operation="staff.reviews.decide"
            label={t("reviews.reject")}
            text={t("reviews.reject.text")}
            reason="customer"
            danger
            act={({ reason }) => decide(false, reason)}
          />
        )}
      </Group>
    </Card>
  );
}
