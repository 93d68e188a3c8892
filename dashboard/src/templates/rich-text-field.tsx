/** A text with buttons for bold, italic, a link and a variable. The marks are part of the text, as in chat programs. */
import { Bold, Braces, Italic, Link } from '#dashboard/src/ui/icons.tsx'
import { useId, useRef, useState, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { TextArea } from '#dashboard/src/ui/text-area.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { insertLink, safeUrl, toggleMark, type TextChange } from './inline-text.ts'
import { TEMPLATE_VARIABLES } from './template-variables.ts'

interface RichTextFieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}

export function RichTextField({ label, value, onChange }: RichTextFieldProps): ReactNode {
  const { templates } = useTexts()
  const box = useRef<HTMLDivElement>(null)
  const [range, setRange] = useState<readonly [number, number] | null>(null)
  const area = (): HTMLTextAreaElement | null => box.current?.querySelector('textarea') ?? null
  const selection = (): readonly [number, number] => [
    area()?.selectionStart ?? value.length,
    area()?.selectionEnd ?? value.length,
  ]
  const apply = ({ text, from, to }: TextChange): void => {
    onChange(text)
    requestAnimationFrame(() => {
      area()?.focus()
      area()?.setSelectionRange(from, to)
    })
  }
  const mark = (kind: '**' | '*'): void => apply(toggleMark(value, ...selection(), kind))
  const insertVariable = (name: string): void => {
    const [from, to] = selection()
    const text = `{{${name}}}`
    apply({ text: value.slice(0, from) + text + value.slice(to), from: from + text.length, to: from + text.length })
  }
  return (
    <div
      ref={box}
      className="flex flex-col gap-1.5"
      onKeyDown={(event) => {
        const kind = { b: '**', i: '*' }[event.key] as '**' | '*' | undefined
        if (kind === undefined || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        mark(kind)
      }}
    >
      <Field label={label} hint={templates.markHint}>
        <TextArea value={value} onChange={onChange} rows={3} />
      </Field>
      <div role="toolbar" aria-label={templates.format} className="flex items-center gap-1">
        <IconButton size="sm" icon={Bold} label={templates.bold} onClick={() => mark('**')} />
        <IconButton size="sm" icon={Italic} label={templates.italic} onClick={() => mark('*')} />
        <IconButton size="sm" icon={Link} label={templates.link} onClick={() => setRange(selection())} />
        <Menu
          align="start"
          trigger={<IconButton size="sm" icon={Braces} label={templates.insertVariable} />}
          groups={[
            {
              items: Object.keys(TEMPLATE_VARIABLES).map((name) => ({
                label: name,
                onSelect: () => insertVariable(name),
              })),
            },
          ]}
        />
      </div>
      {range !== null && (
        <LinkDialog
          label={value.slice(...range)}
          onClose={() => setRange(null)}
          onInsert={(link) => {
            setRange(null)
            apply(insertLink(value, ...range, link))
          }}
        />
      )}
    </div>
  )
}

interface LinkDialogProps {
  readonly label: string
  readonly onClose: () => void
  readonly onInsert: (link: { label: string; href: string }) => void
}

function LinkDialog({ label: selected, onClose, onInsert }: LinkDialogProps): ReactNode {
  const { templates, ui } = useTexts()
  const [label, setLabel] = useState(selected)
  const [href, setHref] = useState('https://')
  const [wasSubmitted, setSubmitted] = useState(false)
  const formId = useId()
  const target = safeUrl(href)
  const isUsable = target !== null && !/[()\s]/.test(target)
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={templates.link}
      size="sm"
      onSubmit={() => {
        setSubmitted(true)
        if (target !== null && isUsable) onInsert({ label: label.replaceAll(/[[\]]/g, '') || target, href: target })
      }}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary">
            {templates.insert}
          </Button>
        </>
      }
    >
      <div id={formId} className="flex flex-col gap-4">
        <Field label={templates.text}>
          <TextInput value={label} onChange={setLabel} />
        </Field>
        <Field label={templates.target} error={wasSubmitted && !isUsable ? templates.badUrl : undefined}>
          <TextInput value={href} spellCheck={false} onChange={setHref} />
        </Field>
      </div>
    </Dialog>
  )
}
