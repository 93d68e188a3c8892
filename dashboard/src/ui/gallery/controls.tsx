import {
  Code,
  Ellipsis,
  Eye,
  Mail,
  Monitor,
  Moon,
  Plus,
  RotateCw,
  Send,
  Smartphone,
  Trash2,
} from '#dashboard/src/ui/icons.tsx'
import { useState } from 'react'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Combobox, type ComboboxOption } from '#dashboard/src/ui/combobox.tsx'
import { DateTimeInput } from '#dashboard/src/ui/date-time-input.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { FileDrop } from '#dashboard/src/ui/file-drop.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Kbd } from '#dashboard/src/ui/kbd.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { PasswordInput } from '#dashboard/src/ui/password-input.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { SearchInput } from '#dashboard/src/ui/search-input.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { Spinner } from '#dashboard/src/ui/spinner.tsx'
import { Switch } from '#dashboard/src/ui/switch.tsx'
import { TagInput } from '#dashboard/src/ui/tag-input.tsx'
import { TextArea } from '#dashboard/src/ui/text-area.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'

const DOMAINS = ['mail.acme.example', 'news.acme.example', 'acme.example', 'acme.de', 'billing.acme.example']

async function searchDomains(text: string): Promise<ComboboxOption[]> {
  await new Promise((resolve) => setTimeout(resolve, 200))
  return DOMAINS.filter((name) => name.includes(text)).map((name) => ({ value: name, label: name }))
}

function Buttons() {
  const [isLoading, setLoading] = useState(false)
  return (
    <Card className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2">
        <Button variant="primary" icon={Send} isLoading={isLoading} onClick={() => setLoading(true)}>
          Send a test
        </Button>
        <Button icon={RotateCw} onClick={() => setLoading(false)}>
          Retry
        </Button>
        <Button variant="ghost">Cancel</Button>
        <Button variant="danger" icon={Trash2}>
          Delete
        </Button>
        <Button disabled>Disabled</Button>
        <ButtonLink href="/ui#table" variant="secondary" icon={Plus}>
          New domain
        </ButtonLink>
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <Button size="sm" variant="primary">
          Small
        </Button>
        <Button size="sm">Small</Button>
        <Button size="sm" isLoading>
          Saving
        </Button>
        <IconButton icon={Ellipsis} label="More actions" />
        <IconButton icon={Eye} label="Show" size="sm" variant="secondary" />
        <Spinner />
        <Kbd keys="mod+k" />
        <Kbd keys="g m" />
        <LinkText href="/ui#mail">A link in text</LinkText>
        <LinkText href="https://www.rfc-editor.org/rfc/rfc5321" isExternal>
          RFC 5321
        </LinkText>
      </div>
    </Card>
  )
}

function TextFields() {
  const [name, setName] = useState('Acme newsletter')
  const [domain, setDomain] = useState('mail.acme')
  const [rate, setRate] = useState<number | null>(1200)
  const [password, setPassword] = useState('correct horse')
  const [search, setSearch] = useState('')
  const [note, setNote] = useState('')
  const [tags, setTags] = useState(['receipts', 'october'])
  const [at, setAt] = useState<string | null>('2026-12-01T08:30:00.000Z')
  return (
    <Card className="grid content-start gap-4 sm:grid-cols-2">
      <Field label="Name" hint="Only your team sees it." isRequired>
        <TextInput value={name} onChange={setName} />
      </Field>
      <Field label="Domain" error="A domain needs a dot and a known ending, such as mail.acme.example.">
        <TextInput value={domain} onChange={setDomain} isMono />
      </Field>
      <Field label="Messages per hour" isOptional>
        <NumberInput value={rate} onChange={setRate} min={1} suffix="per hour" />
      </Field>
      <Field label="Password">
        <PasswordInput value={password} onChange={setPassword} autoComplete="off" />
      </Field>
      <Field label="Tags" hint="Enter or a comma adds one.">
        <TagInput value={tags} onChange={setTags} />
      </Field>
      <SearchInput
        className="self-start sm:mt-6.5"
        label="Search messages"
        value={search}
        onChange={setSearch}
        shortcut={<Kbd keys="/" />}
      />
      <div className="sm:col-span-2">
        <Field label="Send at">
          <DateTimeInput value={at} onChange={setAt} />
        </Field>
      </div>
      <div className="sm:col-span-2">
        <Field label="Note">
          <TextArea value={note} onChange={setNote} placeholder="Why is this address suppressed?" />
        </Field>
      </div>
    </Card>
  )
}

function Choices() {
  const [tier, setTier] = useState<'transactional' | 'marketing' | null>('transactional')
  const [domain, setDomain] = useState<ComboboxOption | null>(null)
  const [isOn, setOn] = useState(true)
  const [isChecked, setChecked] = useState(false)
  const [role, setRole] = useState<string | null>('sender')
  const [view, setView] = useState<'desktop' | 'phone' | 'dark' | 'source'>('desktop')
  return (
    <Card className="flex flex-col gap-4">
      <Field label="Tier">
        <RadioCards
          value={tier}
          onChange={setTier}
          options={[
            {
              value: 'transactional',
              label: 'Transactional',
              description: 'One person asked for it: receipts, resets.',
              icon: Mail,
            },
            { value: 'marketing', label: 'Marketing', description: 'To many, with an unsubscribe link.', icon: Send },
          ]}
        />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Role">
          <Select
            value={role}
            onChange={setRole}
            groups={[
              {
                label: 'People',
                options: [
                  { value: 'admin', label: 'Admin', description: 'Everything, including keys.' },
                  { value: 'member', label: 'Member', description: 'Campaigns and contacts.' },
                ],
              },
              {
                label: 'Programs',
                options: [{ value: 'sender', label: 'Sender', description: 'Sends, reads nothing.' }],
              },
            ]}
          />
        </Field>
        <Field label="Sending domain">
          <Combobox value={domain} onChange={setDomain} search={searchDomains} placeholder="Choose a domain" />
        </Field>
      </div>
      <SegmentedControl
        label="Preview"
        value={view}
        onChange={setView}
        segments={[
          { value: 'desktop', label: 'Desktop', icon: Monitor },
          { value: 'phone', label: 'Phone', icon: Smartphone },
          { value: 'dark', label: 'Dark', icon: Moon, isIconOnly: true },
          { value: 'source', label: 'Source', icon: Code, isIconOnly: true },
        ]}
      />
      <Checkbox
        isChecked={isChecked}
        onChange={setChecked}
        label="Track opens"
        hint="Adds a picture of one pixel to HTML messages."
      />
      <Switch isOn={isOn} onChange={setOn} label="Suspend on high bounce rate" hint="Stops the domain above 5 %." />
      <FileDrop onFiles={() => {}} accept=".csv" hint="CSV up to 100 MB, with a header line" />
    </Card>
  )
}

export function Controls() {
  return (
    <Section title="Controls" id="controls">
      <div className="grid gap-4">
        <Buttons />
        <div className="grid gap-4 xl:grid-cols-2">
          <TextFields />
          <Choices />
        </div>
      </div>
    </Section>
  )
}
