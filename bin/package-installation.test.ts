import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { addAddresses, installPackages } from './package-installation.mjs'

/** Logs its calls. Fails with ADDRESSED if there are addresses, with LOCKED if not, and with SETTINGS for them. */
const NPM = `#!/bin/sh
REGISTRY='{"registry":"https://npm.example/"}'
if [ -e npm-shrinkwrap.json ]; then name='addressed' error=$ADDRESSED; else name='locked' error=$LOCKED; fi
if [ "$1" = config ]; then name='settings' error=$SETTINGS; echo "\${JSON:-$REGISTRY}"; fi
echo 'npm warn' >&2
echo "$1 $name" >> calls
if [ -n "$error" ]; then echo "npm error code $error" >&2; exit 1; fi
`

describe('addresses of packages', () => {
  const settings = { registry: 'https://npm.example/', '@ours:registry': 'https://ours.example/npm/' }
  const integrity = 'sha512-x'
  const cases: readonly [what: string, path: string, entry: object, resolved: string | undefined][] = [
    ['a package', 'koa', { version: '3.2.1', integrity }, 'https://npm.example/koa/-/koa-3.2.1.tgz'],
    ['one inside another', 'a/node_modules/b', { version: '1.0.0', integrity }, 'https://npm.example/b/-/b-1.0.0.tgz'],
    ['a scope', '@koa/router', { version: '15.0.0', integrity }, 'https://npm.example/@koa/router/-/router-15.0.0.tgz'],
    [
      'a scope with a registry',
      '@ours/x',
      { version: '1.0.0', integrity },
      'https://ours.example/npm/@ours/x/-/x-1.0.0.tgz',
    ],
    ['an alias', 'old', { name: 'koa', version: '2.0.0', integrity }, 'https://npm.example/koa/-/koa-2.0.0.tgz'],
    [
      'another address',
      'c',
      { version: '1.0.0', integrity, resolved: 'https://c.example/c.tgz' },
      'https://c.example/c.tgz',
    ],
    ['a part of another archive', 'd/node_modules/e', { version: '1.0.0', inBundle: true }, undefined],
    ['a link', 'f', { resolved: 'packages/f', link: true }, 'packages/f'],
  ]
  for (const [what, name, entry, resolved] of cases)
    it(what, () => {
      const path = `node_modules/${name}`
      const lock = { lockfileVersion: 3, packages: { '': { name: 'root' }, [path]: entry } }
      const added = JSON.parse(addAddresses(JSON.stringify(lock), settings)) as typeof lock
      assert.deepEqual(added, {
        lockfileVersion: 3,
        packages: { '': { name: 'root' }, [path]: resolved === undefined ? entry : { ...entry, resolved } },
      })
    })
})

describe('installation of packages', () => {
  let root: string
  beforeEach(() => {
    root = mkdtempSync('/tmp/mailstead-packages-')
    writeFileSync(join(root, 'package-lock.json'), '{"packages":{}}')
    writeFileSync(join(root, 'npm'), NPM)
    chmodSync(join(root, 'npm'), 0o755)
  })
  afterEach(() => rmSync(root, { recursive: true }))

  const cases: readonly [what: string, env: object, code: number, calls: readonly string[]][] = [
    ['uses the addresses', {}, 0, ['ci addressed']],
    ['asks for them if one is wrong', { ADDRESSED: 'E404' }, 0, ['ci addressed', 'ci locked']],
    ['… or has another file', { ADDRESSED: 'EINTEGRITY' }, 0, ['ci addressed', 'ci locked']],
    ['does not repeat what fails anyway', { ADDRESSED: 'ENOTFOUND' }, 1, ['ci addressed']],
    ['asks if npm does not print its settings', { SETTINGS: 'EBROKEN' }, 0, ['ci locked']],
    ['… or prints something else', { JSON: 'npm notice' }, 0, ['ci locked']],
    ['… or no registry', { JSON: '{}' }, 0, ['ci locked']],
    [
      'installs from a lock file without the packages of other platforms',
      { ADDRESSED: 'EUSAGE', LOCKED: 'EUSAGE Missing: x from lock file' },
      1,
      ['ci addressed', 'ci locked', 'install locked'],
    ],
  ]
  for (const [what, env, code, calls] of cases)
    it(what, async () => {
      // left by an installation that was killed
      writeFileSync(join(root, 'npm-shrinkwrap.json'), 'damaged')
      const done = await installPackages(root, { PATH: `${root}:/usr/bin:/bin`, ...env })
      assert.strictEqual(done.code, code)
      assert.include(done.output, 'npm warn')
      assert.deepEqual(readFileSync(join(root, 'calls'), 'utf8').trim().split('\n'), ['config settings', ...calls])
      assert.notOk(existsSync(join(root, 'npm-shrinkwrap.json')))
    })
})
