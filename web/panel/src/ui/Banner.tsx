import { Alert, Anchor, Stack } from "@mantine/core";
import { IconAlertTriangle, IconSpeakerphone } from "@tabler/icons-react";

import { PlainText } from "./PlainText";
import { t } from "./texts";

interface Props {
  level: "info" | "warning";
  title: string;
  body: string;
  /** Path of the page that it leads to. */
  link?: string | null;
  /** Keeps it away from now on; without it the banner cannot be dismissed. */
  onDismiss?: () => void;
}

/** An announcement as customers see it. */
export function Banner({ level, title, body, link, onDismiss }: Props) {
  return (
    <Alert
      role="note"
      aria-label={title}
      color={level === "warning" ? "orange" : undefined}
      icon={level === "warning" ? <IconAlertTriangle aria-hidden /> : <IconSpeakerphone aria-hidden />}
      title={title}
      withCloseButton={Boolean(onDismiss)}
      closeButtonLabel={t("banner.dismiss", { title })}
      onClose={onDismiss}
    >
      <Stack gap={4} align="flex-start">
        <PlainText text={body} />
        {link && (
          <Anchor size="sm" href={link} c="inherit" td="underline" fw={600}>
            {t("banner.link")}
          </Anchor>
        )}
      </Stack>
    </Alert>
  );
}
