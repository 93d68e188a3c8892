/** The version of this software, as package.json states it. */
import { readFileSync } from 'node:fs'

let known: string | null = null

/** Such as `1.2.0`. Read once. */
export function softwareVersion(): string {
  known ??= (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string })
    .version
  return known
}

/** Negative if `a` is the older version. A pre-release is older than its release (Semantic Versioning 11). */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)]
  for (const [i, number] of left.numbers.entries()) {
    const difference = number - (right.numbers[i] ?? 0)
    if (difference !== 0) return difference
  }
  return Number(right.isPreRelease) - Number(left.isPreRelease)
}

/** The build (`+…`) does not count. */
function parse(version: string): { readonly numbers: readonly number[]; readonly isPreRelease: boolean } {
  const [release = '', ...rest] = (version.split('+')[0] ?? '').split('-')
  return { numbers: release.split('.').map(Number), isPreRelease: rest.length > 0 }
}
