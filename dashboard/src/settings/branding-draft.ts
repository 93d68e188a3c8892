/** A branding while it is edited: what differs from the stored one, and the texts of one language. Pure. */
import type { Branding, ChangeBrandingBody } from '#dashboard/src/api/endpoints.ts'

type Texts = Branding['texts']

/** As the form shows it: an empty field stands for the default. */
export interface BrandingDraft {
  readonly accent_color: string
  readonly background_color: string
  readonly text_color: string
  readonly logo_alt: string
  readonly default_language: string
  readonly texts: Texts
}

export function draftOf(branding: Branding): BrandingDraft {
  return {
    accent_color: branding.accent_color ?? '',
    background_color: branding.background_color ?? '',
    text_color: branding.text_color ?? '',
    logo_alt: branding.logo_alt ?? '',
    default_language: branding.default_language,
    texts: branding.texts,
  }
}

/** The body of a request. Texts that are still empty are left out: the default applies. */
export function bodyOf(draft: BrandingDraft): Required<ChangeBrandingBody> {
  const valueOf = (value: string): string | null => (value.trim() === '' ? null : value.trim())
  return {
    accent_color: valueOf(draft.accent_color),
    background_color: valueOf(draft.background_color),
    text_color: valueOf(draft.text_color),
    logo_alt: valueOf(draft.logo_alt),
    default_language: draft.default_language,
    texts: withoutEmpty(draft.texts),
  }
}

export function isChanged(draft: BrandingDraft, branding: Branding): boolean {
  return JSON.stringify(bodyOf(draft)) !== JSON.stringify(bodyOf(draftOf(branding)))
}

/** Sets a text; undefined removes it. A language without texts is removed. */
export function withText(texts: Texts, language: string, key: string, text: string | undefined): Texts {
  const { [key]: _, ...others } = texts[language] ?? {}
  const own = text === undefined ? others : { ...others, [key]: text }
  const { [language]: __, ...rest } = texts
  return Object.keys(own).length === 0 ? rest : { ...rest, [language]: own }
}

function withoutEmpty(texts: Texts): Texts {
  return Object.fromEntries(
    Object.entries(texts)
      .map(
        ([language, own]) =>
          [language, Object.fromEntries(Object.entries(own).filter(([, text]) => text.trim() !== ''))] as const,
      )
      .filter(([, own]) => Object.keys(own).length > 0),
  )
}
