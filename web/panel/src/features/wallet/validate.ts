import { centsOf } from "~/ui/topup/amount";

export interface Auto {
  gateway: string;
  threshold: string;
  amount: string;
  most: string;
}

export type Problem = "auto.problem.amount" | "auto.problem.small" | "auto.problem.most";

/** What is wrong with the wishes for automatic top-ups, by field. The server remains the judge. */
export function autoProblems(values: Auto): Partial<Record<keyof Auto, Problem>> {
  const threshold = centsOf(values.threshold);
  const amount = centsOf(values.amount);
  const most = values.most.trim() === "" ? undefined : centsOf(values.most);
  const problems: Partial<Record<keyof Auto, Problem>> = {};
  if (!threshold) problems.threshold = "auto.problem.amount";
  if (!amount) problems.amount = "auto.problem.amount";
  else if (threshold && amount < threshold) problems.amount = "auto.problem.small";
  if (most === null) problems.most = "auto.problem.amount";
  else if (most !== undefined && amount && most < amount) problems.most = "auto.problem.most";
  return problems;
}

/** The day after, at which the interface stops before. */
export function dayAfter(day: string): string {
  const next = new Date(`${day}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return next.toISOString().slice(0, 10);
}
