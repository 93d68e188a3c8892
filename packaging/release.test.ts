import { assert } from 'chai'
import { execFileSync, spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const { changeRendered, changeVersion, listComponents, provenanceOf, releaseChangelog, signText } = (await import(
  join(import.meta.dirname, 'release.mjs')
)) as {
  changeRendered: (text: string, from: string, to: string, checksum: string) => string
  changeVersion: (
    read: (name: string) => string,
    from: string,
    to: string,
    day: string,
  ) => (readonly [string, string])[]
  listComponents: (lock: object, version: string, bundled: readonly string[]) => Components
  provenanceOf: (files: readonly object[], version: string, source: object) => Record<string, unknown>
  releaseChangelog: (text: string, version: string, day: string) => string
  signText: (text: string, pem: string) => Buffer
}

interface Components {
  readonly components: readonly Component[]
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

  it('changes the version wherever a test of the packages expects it', () => {
    const read = (name: string): string => readFileSync(join(import.meta.dirname, '..', name), 'utf8')
    const { version } = JSON.parse(read('package.json')) as { version: string }
    const withEntry = (name: string): string =>
      read(name).replace('## Unreleased\n', '## Unreleased\n\n### Added\n- a test\n\n')
    for (const [name, text] of changeVersion(withEntry, version, '98.7.6', '2026-01-01')) {
      assert.isTrue(text.includes('98.7.6'), name)
      for (const mark of [':', '_', '-']) assert.isFalse(text.includes(`mailstead${mark}${version}`), name)
    }
    const rendered = changeRendered(read('packaging/helm/rendered/defaults.yaml'), version, '98.7.6', 'ab'.repeat(32))
    assert.match(rendered.split('\n')[0] ?? '', /sha256:(ab){32};/)
    assert.notInclude(rendered, `"${version}"`)
    assert.notInclude(rendered, `mailstead:${version}`)
  })

  const lock = JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')) as object
  it('lists the packages of a production installation and of the dashboard with their hashes', () => {
    const { components } = listComponents(lock, '1.0.0', ['node_modules/react'])
    const names = components.map(({ name }) => name)
    assert.includeMembers(names, ['koa', 'pg', '@koa/router', 'react'])
    assert.notInclude(names, 'mocha')
    const router = components.find(({ name }) => name === '@koa/router')
    assert.match(router?.purl ?? '', /^pkg:npm\/%40koa\/router@\d/)
    const [node, ...packages] = components
    assert.match(node?.purl ?? '', /^pkg:generic\/node@\d/)
    for (const { name, hashes = [] } of packages) assert.match(hashes[0]?.content ?? '', /^[0-9a-f]{128}$/, name)
  })

  it('refuses a dashboard that was built with other packages than those of the lock file', () => {
    assert.throws(() => listComponents(lock, '1.0.0', ['node_modules/react', 'node_modules/gone']), /lacks .*gone/)
  })

  it('states the commit and the hash of each file', () => {
    const source = { commit: 'c0ffee', builtAt: '2026-01-01T00:00:00.000Z', node: 'v24.0.0' }
    const statement = provenanceOf([{ name: 'a.deb', sha256: 'ab' }], '1.0.0', source)
    assert.deepEqual(statement['subject'], [{ name: 'a.deb', digest: { sha256: 'ab' } }])
    assert.include(JSON.stringify(statement), '"gitCommit":"c0ffee"')
  })

  it('signs the checksums, and the command in SECURITY.md verifies them', function () {
    const { stdout } = spawnSync('openssl', ['version'], { encoding: 'utf8' })
    if (!stdout?.startsWith('OpenSSL 3')) this.skip()
    const security = readFileSync(join(import.meta.dirname, '../SECURITY.md'), 'utf8')
    const command = /^openssl .*$/m.exec(security)?.[0] ?? 'false'
    const { privateKey, publicKey } = generateKeyPairSync('ed25519', {
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    const cwd = mkdtempSync('/tmp/mailstead-release-')
    const write = (name: string, content: string | Buffer): void => writeFileSync(join(cwd, name), content)
    try {
      write('release.pub', publicKey)
      write('SHA256SUMS', 'ab  mailstead.deb\n')
      write('SHA256SUMS.sig', signText('ab  mailstead.deb\n', privateKey))
      assert.include(execFileSync('sh', ['-c', command], { cwd, encoding: 'utf8' }), 'Verified Successfully')
      write('SHA256SUMS', 'cd  mailstead.deb\n')
      assert.notStrictEqual(spawnSync('sh', ['-c', command], { cwd }).status, 0)
    } finally {
      rmSync(cwd, { recursive: true })
    }
  })

  it('refuses a key of another kind before it builds anything', () => {
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    assert.throws(() => signText('', privateKey), /must be an Ed25519 key/)
  })
})
