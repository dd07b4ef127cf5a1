import { Notifications } from "@mantine/notifications";

/** Where notices appear. Those that were given before it was loaded appear then. */
export const Notices = () => <Notifications position="bottom-right" limit={4} />;
