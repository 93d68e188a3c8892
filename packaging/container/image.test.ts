/** What can be checked of the image without building it; `packaging/build image` builds it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { SETTINGS } from '#config/schema.ts'

const ROOT = join(import.meta.dirname, '../..')
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const ignore = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
const production = readFileSync(join(ROOT, 'packaging/production.mjs'), 'utf8')

/** The arguments of all lines with this instruction; continued lines are joined. */
function instructions(name: string): string[] {
  const lines = dockerfile.replaceAll(/\\\n\s*/g, '').split('\n')
  return lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
}

describe('the Dockerfile', () => {
  it('pins its base by tag, and only that', () => {
    assert.match(instructions('ARG')[0] ?? '', /^BASE_IMAGE=docker\.io\/library\/debian:\d+\.\d+-slim$/)
    for (const from of instructions('FROM')) assert.match(from, /^(\$\{BASE_IMAGE\} AS \w+|scratch)$/)
    assert.strictEqual(instructions('FROM').at(-1), 'scratch')
  })

  it('runs as another user than root, with an init and a health check', () => {
    assert.deepEqual(instructions('USER'), ['61100:61100'])
    assert.match(
      instructions('ENTRYPOINT')[0] ?? '',
      /^\["\/usr\/bin\/tini-static", "--", "\/opt\/mailstead\/bin\/mailstead"\]$/,
    )
    const program = /CMD \["\/opt\/mailstead\/(.*)"\]/.exec(instructions('HEALTHCHECK')[0] ?? '')?.[1]
    assert.isTrue(existsSync(join(ROOT, program ?? '-')))
  })

  it('sets only what is a setting, and exposes ports above 1023', () => {
    const names = [...(instructions('ENV')[0] ?? '').matchAll(/(\w+)=/g)].map(([, name = '']) => name)
    const known = new Set<string>([
      ...Object.values(SETTINGS).map(({ env }) => env),
      'PATH',
      'NODE_ENV',
      'NODE_COMPILE_CACHE',
    ])
    assert.deepEqual(
      names.filter((name) => !known.has(name)),
      [],
    )
    for (const port of (instructions('EXPOSE')[0] ?? '').split(' ')) assert.isAbove(Number(port), 1023)
  })
})

describe('the files of packages', () => {
  const listed = [...production.matchAll(/^const (?:PROGRAM|FILES|BUILT) = \[(.*)\]$/gm)].flatMap(([, list = '']) =>
    [...list.matchAll(/'([^']+)'/g)].map(([, name = '']) => name),
  )

  it('are those that the build of the image gets', () => {
    const permitted = ignore.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
    assert.sameMembers(permitted, listed)
  })

  it('are all folders with code, but those of developers', () => {
    const developers = ['bench', 'test', 'node_modules', 'data', 'dist', 'bundle']
    const folders = readdirSync(ROOT, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !developers.includes(entry.name))
      .map(({ name }) => name)
    assert.includeMembers(listed, folders)
  })
})
