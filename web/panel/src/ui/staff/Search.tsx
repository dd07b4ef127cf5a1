import { Button, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";

import { t } from "./texts";

/** A field with its button; what was typed is told when it is sent. */
export function Search({
  label,
  initial,
  onSearch,
  hint,
}: {
  label: string;
  initial: string;
  onSearch: (text: string) => void;
  hint?: string;
}) {
  const [text, setText] = useState(initial);
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(text.trim());
      }}
    >
      <TextInput
        type="search"
        label={label}
        description={hint}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        leftSection={<IconSearch size={16} aria-hidden />}
        rightSection={
          <Button type="submit" size="compact-sm" variant="light">
            {t("search.find")}
          </Button>
        }
        rightSectionWidth={84}
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
      />
    </form>
  );
}
