import { SimpleGrid, TextInput } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";

import { boot } from "~/app/boot";

import { contactProblem, emptyContact, type Contact } from "./contact";
import { t } from "./texts";

const fields = [
  "name",
  "organization",
  "email",
  "phone",
  "street",
  "city",
  "region",
  "postal_code",
  "country",
] as const;

const complete: Record<keyof Contact, string> = {
  name: "name",
  organization: "organization",
  email: "email",
  phone: "tel",
  street: "street-address",
  city: "address-level2",
  region: "address-level1",
  postal_code: "postal-code",
  country: "country",
};

/** A form of a registrant; name and address of the account stand in it already. */
export const useContactForm = (start: Partial<Contact> = {}) =>
  useForm<Contact>({
    mode: "uncontrolled",
    initialValues: { ...emptyContact, name: boot.account?.name ?? "", email: boot.account?.email ?? "", ...start },
    validate: Object.fromEntries(
      fields.map((field) => [
        field,
        (value: string) => {
          const problem = contactProblem(field, value);
          return problem && t(`problem.${problem}`);
        },
      ]),
    ),
  });

/** The fields of a registrant of a domain. */
export function ContactFields({ form }: { form: UseFormReturnType<Contact> }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {fields.map((field) => (
        <TextInput
          key={form.key(field)}
          label={t(field)}
          description={field === "phone" ? t("phone_hint") : field === "country" ? t("country_hint") : undefined}
          autoComplete={complete[field]}
          inputMode={field === "phone" ? "tel" : field === "email" ? "email" : undefined}
          required={!["organization", "region", "postal_code"].includes(field)}
          {...form.getInputProps(field)}
        />
      ))}
    </SimpleGrid>
  );
}
