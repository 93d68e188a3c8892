import { assert } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const { listComponents, provenanceOf, releaseChangelog } = (await import(join(import.meta.dirname, 'release.mjs'))) as {
  listComponents: (lock: object, version: string) => { readonly components: readonly Component[] }
  provenanceOf: (files: readonly object[], version: string, source: object) => Record<string, unknown>
  releaseChangelog: (text: string, version: string, day: string) => string
}

interface Component {
  readonly name: string
  readonly purl: string
  readonly hashes?: readonly { readonly content: string }[]
}

describe('the release', () => {
  it('moves what is unreleased under the version, and refuses an empty release', () => {
    const text = '# Changelog\n\n## Unreleased\n\n### Added\n- x\n\n## 0.1.0 - 2026-01-01\n- y\n'
    const released = releaseChangelog(text, '0.2.0', '2026-02-02')
    assert.match(released, /## Unreleased\n\n## 0\.2\.0 - 2026-02-02\n\n### Added\n- x\n\n## 0\.1\.0/)
    assert.throws(() => releaseChangelog(released, '0.3.0', '2026-03-03'), /nothing under "Unreleased"/)
  })

  it('lists the packages of a production installation with their hashes', () => {
    const lock = JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')) as object
    const { components } = listComponents(lock, '1.0.0')
    const names = components.map(({ name }) => name)
    assert.includeMembers(names, ['koa', 'pg', '@koa/router'])
    assert.notInclude(names, 'mocha')
    const router = components.find(({ name }) => name === '@koa/router')
    assert.match(router?.purl ?? '', /^pkg:npm\/%40koa\/router@\d/)
    for (const { name, hashes = [] } of components) assert.match(hashes[0]?.content ?? '', /^[0-9a-f]{128}$/, name)
  })

  it('states the commit and the hash of each file', () => {
    const source = { commit: 'c0ffee', builtAt: '2026-01-01T00:00:00.000Z', node: 'v24.0.0' }
    const statement = provenanceOf([{ name: 'a.deb', sha256: 'ab' }], '1.0.0', source)
    assert.deepEqual(statement['subject'], [{ name: 'a.deb', digest: { sha256: 'ab' } }])
    assert.include(JSON.stringify(statement), '"gitCommit":"c0ffee"')
  })
})
