import { Plus, X } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import type { Branding } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useUiTexts } from '#dashboard/src/ui/ui-texts.ts'
import { withText, type BrandingDraft } from './branding-draft.ts'

interface TextsProps {
  readonly branding: Branding
  readonly draft: BrandingDraft
  /** The language whose texts are edited, and shown in the preview. */
  readonly language: string
  readonly onLanguage: (language: string) => void
  readonly onChange: (fields: Partial<BrandingDraft>) => void
  readonly error: string | undefined
  readonly mayChange: boolean
}

const LANGUAGE = /^[a-z]{2}$/

export function BrandingTexts(props: TextsProps): ReactNode {
  const { branding, draft, language, onLanguage, onChange, error, mayChange } = props
  const { branding: texts } = useTexts()
  const nameOf = useLanguageNames()
  const languages = [...new Set([...branding.languages, ...Object.keys(draft.texts), language])].toSorted()
  const options = languages.map((value) => ({ value, label: nameOf(value) }))
  return (
    <Card className="flex flex-col gap-5">
      <div className="grid gap-5 sm:grid-cols-2">
        <Field label={texts.defaultLanguage} hint={texts.defaultLanguageHint}>
          <Select
            value={draft.default_language}
            onChange={(value) => onChange({ default_language: value })}
            options={options}
            isDisabled={!mayChange}
          />
        </Field>
        <Field label={texts.editedLanguage}>
          <Select value={language} onChange={onLanguage} options={options} />
        </Field>
      </div>
      {mayChange && <AddLanguage onAdd={onLanguage} />}
      <OwnTexts {...props} />
      {error !== undefined && <p className="text-sm text-danger-text">{error}</p>}
    </Card>
  )
}

/** Names of languages in the language of the dashboard. */
function useLanguageNames(): (code: string) => string {
  const { locale } = useUiTexts()
  const names = new Intl.DisplayNames([locale], { type: 'language', fallback: 'code' })
  return (code) => names.of(code) ?? code
}

function AddLanguage({ onAdd }: { readonly onAdd: (language: string) => void }): ReactNode {
  const { branding: texts } = useTexts()
  const [code, setCode] = useState('')
  const add = (): void => {
    onAdd(code)
    setCode('')
  }
  return (
    <div className="flex items-end gap-2">
      <Field label={texts.otherLanguage} hint={texts.otherLanguageHint}>
        <TextInput isMono value={code} onChange={(text) => setCode(text.toLowerCase())} maxLength={2} />
      </Field>
      <Button className="mb-6.5" disabled={!LANGUAGE.test(code)} onClick={add}>
        {texts.addLanguage}
      </Button>
    </div>
  )
}

function OwnTexts({ branding, draft, language, onChange, mayChange }: TextsProps): ReactNode {
  const { branding: texts } = useTexts()
  const own = draft.texts[language] ?? {}
  const defaults = defaultsOf(branding, language)
  const change = (key: string, text: string | undefined): void =>
    onChange({ texts: withText(draft.texts, language, key, text) })
  return (
    <div className="flex flex-col gap-4">
      {Object.keys(defaults)
        .filter((key) => own[key] !== undefined)
        .map((key) => (
          <div key={key} className="flex items-start gap-2">
            <Field label={defaults[key]} hint={key} className="flex-1">
              <TextInput value={own[key] ?? ''} onChange={(text) => change(key, text)} readOnly={!mayChange} />
            </Field>
            {mayChange && (
              <IconButton
                icon={X}
                label={texts.removeText(defaults[key] ?? key)}
                className="mt-6.5"
                onClick={() => change(key, undefined)}
              />
            )}
          </div>
        ))}
      {mayChange && <AddText defaults={defaults} own={own} onAdd={(key) => change(key, defaults[key] ?? '')} />}
    </div>
  )
}

interface AddTextProps {
  readonly defaults: Readonly<Record<string, string>>
  readonly own: Readonly<Record<string, string>>
  readonly onAdd: (key: string) => void
}

/** The texts that still have the default, by the page that they are on. */
function AddText({ defaults, own, onAdd }: AddTextProps): ReactNode {
  const { branding: texts } = useTexts()
  const [chosen, setChosen] = useState<string | null>(null)
  const free = Object.keys(defaults).filter((key) => own[key] === undefined)
  const groups = [...new Set(free.map(groupOf))].map((group) => ({
    label: texts.groups[group] ?? group,
    options: free.filter((key) => groupOf(key) === group).map((key) => ({ value: key, label: defaults[key] ?? key })),
  }))
  const add = (): void => {
    if (chosen !== null) onAdd(chosen)
    setChosen(null)
  }
  return (
    <div className="flex flex-wrap items-end gap-2">
      <Field label={texts.otherText} className="min-w-0 flex-1 basis-60">
        <Select value={chosen} onChange={setChosen} groups={groups} placeholder={texts.chooseText} />
      </Field>
      <Button icon={Plus} disabled={chosen === null} onClick={add}>
        {texts.changeText}
      </Button>
    </div>
  )
}

/** The built-in texts of a language; those of a language that the pages do not have are in English. */
function defaultsOf({ defaults }: Branding, language: string): Readonly<Record<string, string>> {
  return defaults[language] ?? defaults['en'] ?? {}
}

function groupOf(key: string): string {
  return key.split('.')[0] ?? key
}
