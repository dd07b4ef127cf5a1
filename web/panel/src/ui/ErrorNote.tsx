import { Alert, Button, Group, Text } from "@mantine/core";
import { IconAlertTriangle, IconInfoCircle } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";

import { ApiFailure } from "~/api/failure";

import { Copy } from "./Copy";
import { t } from "./texts";

/** What the server cannot do or the service is not ready for: nothing is wrong, and trying again does not help. */
const calm = new Set(["unsupported_operation", "service_not_active", "service_suspended", "section_disabled"]);

/** What a refusal says, the request's id, and a way on. */
export function ErrorNote({ error, retry }: { error: unknown; retry?: () => void }) {
  if (!error) return null;
  const failure = error instanceof ApiFailure ? error : null;
  const text = failure?.message || t(failure?.key === "network" ? "error.network" : "error.unexpected");
  if (failure && calm.has(failure.key))
    return <Alert color="gray" variant="light" icon={<IconInfoCircle aria-hidden />} role="status" title={text} />;
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} role="alert" title={text}>
      {failure && Object.keys(failure.fields).length > 0 && (
        <ul>
          {Object.entries(failure.fields).map(([field, texts]) => (
            <li key={field}>{texts.join(" ")}</li>
          ))}
        </ul>
      )}
      <Group gap="sm">
        {failure?.key === "insufficient_funds" && (
          <Button component={Link} to="/wallet" size="xs" variant="light">
            {t("error.top_up")}
          </Button>
        )}
        {retry && (
          <Button size="xs" variant="light" color="red" onClick={retry}>
            {t("error.retry")}
          </Button>
        )}
        {failure?.requestId && (
          <Group gap={4}>
            <Text size="xs">{t("error.request_id")}</Text>
            <Copy value={failure.requestId} />
          </Group>
        )}
      </Group>
    </Alert>
  );
}
