import { Copy, Ellipsis, Globe, KeyRound, MailPlus, RotateCw, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState } from 'react'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { CommandPalette, type CommandGroup } from '#dashboard/src/ui/command-palette.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Kbd } from '#dashboard/src/ui/kbd.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { Popover } from '#dashboard/src/ui/popover.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { useHotkeys } from '#dashboard/src/ui/use-hotkeys.ts'

const GROUPS: CommandGroup[] = [
  {
    label: 'Go to',
    commands: [
      { id: 'domains', label: 'Domains', icon: Globe, shortcut: 'g d', onSelect: () => {} },
      { id: 'keys', label: 'API keys', icon: KeyRound, shortcut: 'g k', onSelect: () => {} },
    ],
  },
  { label: 'Actions', commands: [{ id: 'test', label: 'Send a test mail', icon: MailPlus, onSelect: () => {} }] },
]

type Open = 'dialog' | 'confirm' | 'sheet' | 'palette' | null

function MoreMenu() {
  return (
    <Menu
      trigger={<IconButton icon={Ellipsis} label="Actions of the message" hasTooltip={false} />}
      groups={[
        {
          items: [
            { label: 'Retry now', icon: RotateCw, shortcut: 'r' },
            { label: 'Copy as curl', icon: Copy },
          ],
        },
        { items: [{ label: 'Suppress the address', icon: Trash2, isDanger: true }] },
      ]}
    />
  )
}

export function Overlays() {
  const toast = useToast()
  const [open, setOpen] = useState<Open>(null)
  const [text, setText] = useState('')
  const [name, setName] = useState('')
  useHotkeys({ 'mod+k': () => setOpen('palette') })
  const bind = (which: Open) => ({
    isOpen: open === which,
    onOpenChange: (isOpen: boolean) => setOpen(isOpen ? which : null),
  })
  return (
    <Section title="Overlays" id="overlays">
      <Card className="flex flex-wrap items-center gap-2">
        <Button onClick={() => setOpen('dialog')}>Dialog</Button>
        <Button onClick={() => setOpen('confirm')}>Confirmation</Button>
        <Button onClick={() => setOpen('sheet')}>Drawer</Button>
        <Button onClick={() => setOpen('palette')}>
          Commands <Kbd keys="mod+k" />
        </Button>
        <Button
          onClick={() =>
            toast({ title: 'Domain deleted', text: 'news.acme.example', action: { label: 'Undo', onClick: () => {} } })
          }
        >
          Message
        </Button>
        <Popover label="Time range" trigger={<Button>Popover</Button>}>
          <p className="text-muted">Times are in your zone. Hover a time to see it in UTC.</p>
        </Popover>
        <MoreMenu />
      </Card>
      <Dialog
        {...bind('dialog')}
        title="Add a domain"
        description="The part after the @ of your sender addresses."
        onSubmit={() => setOpen(null)}
        footer={
          <>
            <Button onClick={() => setOpen(null)}>Cancel</Button>
            <Button type="submit" variant="primary">
              Add the domain
            </Button>
          </>
        }
      >
        <Field label="Domain" isRequired hint="A subdomain keeps its reputation apart from your company's mail.">
          <TextInput value={name} onChange={setName} placeholder="mail.acme.example" isMono />
        </Field>
      </Dialog>
      <ConfirmDialog
        {...bind('confirm')}
        isDanger
        title="Delete mail.acme.example?"
        text="Its 1,204 waiting messages are cancelled and its keys are deleted. This cannot be undone."
        confirmLabel="Delete the domain"
        typeToConfirm="mail.acme.example"
        onConfirm={() => setOpen(null)}
      />
      <Sheet {...bind('sheet')} title="msg_5f3a91">
        <KeyValueList
          items={[
            { label: 'To', value: 'ada.lovelace@gmail.com' },
            { label: 'State', value: 'Deferred' },
          ]}
        />
      </Sheet>
      <CommandPalette
        {...bind('palette')}
        label="Search or jump to"
        text={text}
        onTextChange={setText}
        groups={GROUPS}
      />
    </Section>
  )
}
