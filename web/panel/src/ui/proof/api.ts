import { api, call } from "~/api/client";
import type { components } from "~/api/schema";

export type Claim = components["schemas"]["Claim"];

/** Asks for a look into the DNS of a domain now. From then on the server looks again by itself. */
export const checkClaim = (domain: string) => call(api.POST("/api/v1/domain-claims", { body: { domain } }));
