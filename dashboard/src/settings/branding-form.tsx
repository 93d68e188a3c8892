import { useState, type FormEvent, type ReactNode } from 'react'
import { changeBranding, previewBranding, type Branding } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { formErrors, useFocusOnError, type FormErrors } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { ColorInput } from '#dashboard/src/ui/color-input.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'
import { bodyOf, draftOf, isChanged, type BrandingDraft } from './branding-draft.ts'
import { BrandingPreview, type BrandingPreviewPage } from './branding-preview.tsx'
import { BrandingTexts } from './branding-texts.tsx'
import { LogoForm } from './logo-form.tsx'

/** The defaults of the public pages. */
const COLORS = { accent_color: '#1a4480', background_color: '#ffffff', text_color: '#1b1b1b' } as const
const COLOR_FIELDS = ['accent_color', 'background_color', 'text_color'] as const
const FIELDS = [...COLOR_FIELDS, 'logo_alt', 'default_language', 'texts']
const PREVIEW_DELAY_MS = 400

/** Nothing is stored before the reader saves; the preview shows the draft, and what is wrong with it. */
export function BrandingForm({ branding }: { readonly branding: Branding }): ReactNode {
  const { branding: texts } = useTexts()
  const toast = useToast()
  const mayChange = useCan()('audiences:write')
  const [draft, setDraft] = useState(() => draftOf(branding))
  const [page, setPage] = useState<BrandingPreviewPage>('subscribe')
  const [language, setLanguage] = useState(branding.default_language)
  const shown = useDebounced(draft, PREVIEW_DELAY_MS)
  const preview = useApi(
    previewBranding,
    { body: { ...bodyOf(shown), page, language } },
    { isEnabled: mayChange, keepsPrevious: true },
  )
  const save = useAction(changeBranding, {
    invalidates: ['/public/workspace/branding'],
    onSuccess: () => toast({ title: texts.saved }),
    onError: () => undefined,
  })
  useFocusOnError(save.error)
  const errors = formErrors(save.error ?? preview.error, FIELDS)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate({ body: bodyOf(draft) })
  }
  const change = (fields: Partial<BrandingDraft>): void => {
    save.reset()
    setDraft({ ...draft, ...fields })
  }
  return (
    <div className="grid gap-8 xl:grid-cols-[minmax(0,36rem)_minmax(0,1fr)]">
      <form onSubmit={submit} className="flex min-w-0 flex-col gap-8">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Section title={texts.logo} description={texts.logoText}>
          <Card className="flex flex-col gap-5">
            <LogoForm branding={branding} mayChange={mayChange} />
            <Field label={texts.logoAlt} hint={texts.logoAltHint} error={errors.of('logo_alt')}>
              <TextInput value={draft.logo_alt} onChange={(text) => change({ logo_alt: text })} readOnly={!mayChange} />
            </Field>
          </Card>
        </Section>
        <Section title={texts.colors} description={texts.colorsText}>
          <Colors draft={draft} onChange={change} errors={errors} mayChange={mayChange} />
        </Section>
        <Section title={texts.texts} description={texts.textsText}>
          <BrandingTexts
            branding={branding}
            draft={draft}
            language={language}
            onLanguage={setLanguage}
            onChange={change}
            error={errors.of('texts')}
            mayChange={mayChange}
          />
        </Section>
        {mayChange && (
          <div className="flex flex-wrap gap-2">
            <Button type="submit" variant="primary" isLoading={save.isPending} disabled={!isChanged(draft, branding)}>
              {texts.save}
            </Button>
            {isChanged(draft, branding) && <Button onClick={() => change(draftOf(branding))}>{texts.discard}</Button>}
          </div>
        )}
      </form>
      {mayChange && (
        <BrandingPreview page={page} onPage={setPage} preview={preview.data?.data} isRefused={preview.error !== null} />
      )}
    </div>
  )
}

interface ColorsProps {
  readonly draft: BrandingDraft
  readonly onChange: (fields: Partial<BrandingDraft>) => void
  readonly errors: FormErrors
  readonly mayChange: boolean
}

function Colors({ draft, onChange, errors, mayChange }: ColorsProps): ReactNode {
  const { branding: texts } = useTexts()
  return (
    <Card className="grid gap-5 sm:grid-cols-3">
      {COLOR_FIELDS.map((field) => (
        <Field key={field} label={texts.colorNames[field]} error={errors.of(field)}>
          <ColorInput
            value={draft[field]}
            onChange={(value) => onChange({ [field]: value })}
            placeholder={COLORS[field]}
            pickerLabel={texts.pick(texts.colorNames[field])}
            isDisabled={!mayChange}
          />
        </Field>
      ))}
    </Card>
  )
}
