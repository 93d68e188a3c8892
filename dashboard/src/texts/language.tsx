/**
 * The language of the dashboard: what the reader chose, else what the browser prefers, else English. German is loaded
 * only when it is used. Numbers and times follow the language as well.
 */
import { createContext, use, useEffect, useMemo, useState, type ReactNode } from 'react'
import { en, type Texts } from '#dashboard/src/texts/en/en.ts'

export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

const STORED = 'mailstead.language'

interface LanguageState {
  readonly language: Language
  readonly texts: Texts
  choose(language: Language): void
}

const LanguageContext = createContext<LanguageState>({ language: 'en', texts: en, choose: () => undefined })

export function LanguageProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [language, setLanguage] = useState<Language>(preferredLanguage)
  const [texts, setTexts] = useState<Texts | null>(language === 'en' ? en : null)
  useEffect(() => {
    document.documentElement.lang = language
    let isCurrent = true
    void loadTexts(language).then((loaded) => {
      if (isCurrent) setTexts(loaded)
    })
    return () => {
      isCurrent = false
    }
  }, [language])
  const state = useMemo(
    () => ({
      language,
      texts: texts ?? en,
      choose: (chosen: Language) => {
        store(chosen)
        setLanguage(chosen)
      },
    }),
    [language, texts],
  )
  // nothing is shown in a language that the reader did not choose
  return texts === null ? null : <LanguageContext value={state}>{children}</LanguageContext>
}

export function useTexts(): Texts {
  return use(LanguageContext).texts
}

export function useLanguage(): Pick<LanguageState, 'language' | 'choose'> {
  return use(LanguageContext)
}

async function loadTexts(language: Language): Promise<Texts> {
  if (language === 'en') return en
  // a failed download must not leave an empty page
  return import('#dashboard/src/texts/de/de.ts').then(({ de }) => de).catch(() => en)
}

function preferredLanguage(): Language {
  const stored = readStored()
  const known = [stored, ...navigator.languages].map((name) => name?.slice(0, 2))
  return known.find(isLanguage) ?? 'en'
}

function isLanguage(name: string | undefined): name is Language {
  return name !== undefined && Object.hasOwn(LANGUAGES, name)
}

function readStored(): string | undefined {
  try {
    return localStorage.getItem(STORED) ?? undefined
  } catch {
    return undefined // the browser blocks storage: the choice lasts until the page is closed
  }
}

function store(language: Language): void {
  try {
    localStorage.setItem(STORED, language)
  } catch {
    // as above
  }
}
