import { useCallback } from 'react'
import { useLanguage, useTexts } from './language.tsx'
import { saySentences, sayServerText, withLocalTimes, type Translation } from './server-text.ts'

/** `(sentence of the server, its code and parameters)`. */
type SayServerText = (text: string, translation: Translation | null | undefined) => string

export function useServerText(): SayServerText {
  const { server } = useTexts()
  const { language } = useLanguage()
  return useCallback((text, translation) => sayServerText({ server, language }, text, translation), [server, language])
}

/** `(text of the server, the codes of its sentences)`. */
type SaySentences = (text: string, translations: readonly Translation[]) => string

export function useSentences(): SaySentences {
  const { server } = useTexts()
  const { language } = useLanguage()
  return useCallback((text, all) => saySentences({ server, language }, text, all), [server, language])
}

/** As `useServerText`; what has no translation has its times in the zone of the reader. */
export function useTimedText(): SayServerText {
  const { server } = useTexts()
  const { language } = useLanguage()
  return useCallback(
    (text, translation) => sayServerText({ server, language }, withLocalTimes(text, language), translation),
    [server, language],
  )
}
