import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { ApiFailure } from "~/api/failure";
import type { components } from "~/api/schema";

export type Loyalty = components["schemas"]["Loyalty"];
export type Review = components["schemas"]["ReviewsOwn"];

export const loyalty = queryOptions({
  queryKey: ["loyalty"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/me/loyalty", { signal })),
});

export const referral = queryOptions({
  queryKey: ["referral"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/me/referral", { signal })),
});

/** The reader's review; null when there is none. */
export const review = queryOptions({
  queryKey: ["review"],
  queryFn: async ({ signal }): Promise<Review | null> => {
    try {
      return await call(api.GET("/api/v1/me/review", { signal }));
    } catch (failure) {
      if (failure instanceof ApiFailure && failure.status === 404) return null;
      throw failure;
    }
  },
});

export const writeReview = (body: components["schemas"]["ReviewsWriteBody"]) =>
  call(api.PUT("/api/v1/me/review", { body }));

export const deleteReview = () => call(api.DELETE("/api/v1/me/review"));
