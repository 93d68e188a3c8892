import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { isPackage, requireStoreUrls } from './package-layout.ts'

const [DB, REDIS] = ['postgres://db/mailstead', 'redis://cache']

describe('a package', () => {
  it('has a Node of its own', () => {
    const root = mkdtempSync('/tmp/mailstead-layout-')
    try {
      assert.strictEqual(isPackage(root), false)
      mkdirSync(join(root, 'runtime'))
      writeFileSync(join(root, 'runtime/node'), '')
      assert.strictEqual(isPackage(root), true)
    } finally {
      rmSync(root, { recursive: true })
    }
  })

  const rows: readonly [what: string, databaseUrl: string | null, redisUrl: string | null, error: RegExp | null][] = [
    ['neither', null, null, /^DATABASE_URL and REDIS_URL must be set: .*compose\.yaml/],
    ['no DATABASE_URL', null, REDIS, /^DATABASE_URL must be set/],
    ['no REDIS_URL', DB, null, /^REDIS_URL must be set/],
    ['both', DB, REDIS, null],
  ]
  for (const [what, databaseUrl, redisUrl, error] of rows) {
    it(`with ${what}: ${error === null ? 'starts' : 'names what is missing'}`, () => {
      const start = (): void => requireStoreUrls({ databaseUrl, redisUrl }, true)
      if (error === null) start()
      else assert.throws(start, error)
    })
  }

  it('is not a checkout, which starts its own stores', () => {
    requireStoreUrls({ databaseUrl: null, redisUrl: null }, false)
  })
})
