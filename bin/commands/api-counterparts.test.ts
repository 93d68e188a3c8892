/** Every command is covered by endpoints, or has a reason why not. */
import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { ROUTES } from '#api/table.ts'
import { code, markdownTable } from '#src/platform/markdown-table.ts'
import { checkPage } from '#test/support/generated-docs.ts'
import { API_COUNTERPARTS } from './api-counterparts.test-data.ts'

/** From the generated page of the commands, which a test of its own compares with the commands. */
function commandsOf(page: string): string[] {
  return page
    .slice(page.indexOf('\n## Usage'))
    .split('\n### ')
    .slice(1)
    .flatMap((section) => {
      const name = section.slice(0, section.indexOf('\n')).trim()
      const actions = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, action = '']) => `${name} ${action}`)
      return actions.length === 0 ? [name] : actions
    })
}

const HEAD = `# Commands and the API

What the command line does, a program can do with the API, except for what belongs to one machine. Endpoints below
\`/admin\` need the operator token, the others an Admin key of the workspace.
`

describe('the API counterparts of commands', () => {
  const names = new Set(ROUTES.map(({ name }) => name))
  const described = commandsOf(readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8'))

  it('name each action of each command once, in the order of the help', () => {
    assert.isAbove(described.length, 100)
    assert.deepEqual(
      API_COUNTERPARTS.map(({ command }) => command),
      described,
      'add the action to bin/commands/api-counterparts.test-data.ts with its endpoints, or a reason',
    )
  })
  it('are endpoints that exist', () =>
    assert.deepEqual(
      API_COUNTERPARTS.flatMap(({ routes }) => routes).filter((route) => !names.has(route)),
      [],
    ))
  it('are on the page for people', () => {
    const paths = new Map(ROUTES.map(({ name, method, paths: [path] }) => [name, code(`${method} ${path}`)]))
    const rows = API_COUNTERPARTS.map(({ command, routes, reason }) => [
      code(command),
      reason === null ? routes.map((name) => paths.get(name) ?? '').join(', ') : `none: it ${reason}`,
    ])
    checkPage('reference/commands-and-api.md', `${HEAD}\n${markdownTable(['Command', 'Endpoints'], rows)}\n`)
  })
})
