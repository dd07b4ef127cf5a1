import { StaffLink } from "./StaffLink";

/** Leads to the page of a customer. */
export function CustomerLink({ id, email }: { id: number; email?: string }) {
  if (id === 0) return <>–</>;
  return <StaffLink to={`customers/${id}`}>{email || `#${id}`}</StaffLink>;
}
