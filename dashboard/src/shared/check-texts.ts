/** A check of the installation in the language of the reader: its name, what it found, why it matters, what to do. */
import type { InstallationCheck } from '#dashboard/src/api/endpoints.ts'
import { useSentences, useServerText } from '#dashboard/src/texts/use-server-text.ts'

/** Checks of the sending addresses, such as `egress PTR`, matter for one reason. */
const OF_ADDRESS = /^egress (?!sources$)/

interface CheckTexts {
  readonly name: string
  readonly detail: string
  readonly why: string
  readonly todo: string
}

export function useCheckTexts(): (check: InstallationCheck) => CheckTexts {
  const say = useServerText()
  const sayAll = useSentences()
  return ({ name, why, detail, detail_translations, todo, todo_translations }) => ({
    name: say(name, { code: `check.${name}`, params: {} }),
    detail: sayAll(detail, detail_translations),
    todo: sayAll(todo, todo_translations),
    why: say(why, { code: `check_reason.${OF_ADDRESS.test(name) ? 'egress sources' : name}`, params: {} }),
  })
}
