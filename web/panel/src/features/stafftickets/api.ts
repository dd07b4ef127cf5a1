import { queryOptions } from "@tanstack/react-query";

import { addressOf, call } from "~/api/client";
import { staff, type Schemas } from "~/api/staff";

export type Thread = Schemas["TicketsStaffThread"];
export type Message = Schemas["TicketsStaffMessage"];
export type Status = Thread["status"];
export type Canned = Schemas["TicketsCanned"];

export const ticket = (id: number) =>
  queryOptions({
    queryKey: ["staff", "ticket", id],
    queryFn: ({ signal }) =>
      call(staff.GET("/api/v1/admin/tickets/{ticket}", { params: { path: { ticket: id } }, signal })),
    refetchInterval: 15_000,
  });

export const canned = queryOptions({
  queryKey: ["staff", "canned"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/canned-answers", { signal })),
});

export const answer = (id: number, body: Schemas["TicketsAnswerBody"]) =>
  call(staff.POST("/api/v1/admin/tickets/{ticket}/messages", { params: { path: { ticket: id } }, body }));

export const change = (id: number, body: Schemas["TicketsChangeBody"]) =>
  call(staff.PATCH("/api/v1/admin/tickets/{ticket}", { params: { path: { ticket: id } }, body }));

export const saveCanned = (title: string, body: string) =>
  call(staff.PUT("/api/v1/admin/canned-answers", { body: { title, body } }));

export const removeCanned = (id: number) =>
  call(staff.DELETE("/api/v1/admin/canned-answers/{canned_answer}", { params: { path: { canned_answer: id } } }));

export const attachment = (ticket: number, file: number) =>
  addressOf(`/api/v1/admin/tickets/${ticket}/attachments/${file}`);
