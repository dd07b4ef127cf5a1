import { Group, Text } from "@mantine/core";

import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { Act } from "./Act";
import { cancelMove, type Move } from "./api";
import { useChanged } from "./changed";
import { StaffLink } from "./StaffLink";
import { t } from "./texts";

const tones: Record<Move["state"], Tone> = { running: "warn", moved: "good", failed: "bad" };

/** How far the move of a service between machines is; with the service, where that is not the page's own. */
export function MoveState({ move, named }: { move: Move; named?: boolean }) {
  const changed = useChanged();
  return (
    <div>
      <Group justify="space-between">
        <Text>
          {named && <StaffLink to={`services/${move.service_id}`}>#{move.service_id}</StaffLink>} {move.from} →{" "}
          {move.to || "…"}
        </Text>
        <Status tone={tones[move.state]} label={t(`move.${move.state}`)} />
      </Group>
      <Text size="sm" c="dimmed">
        <When time={move.created_at} /> {move.state === "running" && t(`step.${move.step}`)}
      </Text>
      {move.backup_at && (
        <Text size="sm">
          {t("move.backup")} <When time={move.backup_at} />
        </Text>
      )}
      {move.cause && (
        <Text size="sm" c="red">
          {move.cause}
        </Text>
      )}
      {move.state === "running" && !move.committed_at && (
        <Act
          operation="staff.moves.cancel"
          label={t("move.cancel")}
          text={t("move.cancel.text")}
          reason="staff"
          act={async ({ reason }) => {
            await cancelMove(move.id, reason);
            await changed(t("move.cancelled"));
          }}
        />
      )}
    </div>
  );
}
