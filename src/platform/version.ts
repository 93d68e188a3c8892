/** The version of this software, as package.json states it. */
import { readFileSync } from 'node:fs'

let known: string | null = null

/** Such as `1.2.0`. Read once. */
export function softwareVersion(): string {
  known ??= (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string })
    .version
  return known
}
