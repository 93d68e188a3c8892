/** The name of a check of the installation and why it matters, in the language of the reader. */
import type { InstallationCheck } from '#dashboard/src/api/endpoints.ts'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'

/** Checks of one sending address are named after it: `egress 192.0.2.1`. */
const OF_ADDRESS = /^egress (?!sources$)/

interface CheckTexts {
  readonly name: string
  readonly why: string
}

export function useCheckTexts(): (check: Pick<InstallationCheck, 'name' | 'why'>) => CheckTexts {
  const say = useServerText()
  return ({ name, why }) => ({
    name: say(name, { code: `check.${name}`, params: {} }),
    why: say(why, { code: `check_reason.${OF_ADDRESS.test(name) ? 'egress sources' : name}`, params: {} }),
  })
}
