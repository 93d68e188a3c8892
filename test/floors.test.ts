import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'

/** Lowest first. A room may import rooms on its own floor or below, never above. Adding a folder means saying here where it stands. */
const FLOORS: readonly (readonly string[])[] = [
  ['config', 'src', 'migrations'], // tools
  ['src/mail'], // language
  [
    'src/queue',
    'src/shaping',
    'src/limits',
    'src/workspaces',
    'src/auth',
    'src/domains',
    'src/templates',
    'src/sandbox',
    'src/providers',
    'src/events',
    'src/suppression',
    'src/contacts',
    'src/imports',
    'src/segments',
    'src/score',
    'src/egress',
    'src/metrics',
  ], // facts
  ['src/messages', 'src/webhooks', 'src/tracking'],
  ['src/recipes', 'src/campaigns', 'src/automations', 'src/subscribe', 'src/operator', 'src/tls-reports'],
  ['mta/claim', 'mta/compose', 'mta/route', 'mta/egress', 'mta/limits', 'mta/smtp', 'mta/security', 'mta/classify'], // stages
  ['mta/transport'],
  [
    'mta',
    'mta/inbound',
    'mta/submission',
    'mta/sandbox',
    'mta/dry-run',
    'api',
    'api/routes',
    'api/sending',
    'api/pages',
    'src/worker',
  ], // wiring and mains
]
/** Neighbours that must not see each other. */
const STAGES = [
  'mta/claim',
  'mta/compose',
  'mta/route',
  'mta/egress',
  'mta/limits',
  'mta/smtp',
  'mta/security',
  'mta/classify',
]
const WALLS: readonly (readonly [string, string])[] = [
  ['api', 'mta'],
  ['api', 'src/worker'],
  ['mta', 'src/worker'],
  ...STAGES.flatMap((one, i) => STAGES.slice(i + 1).map((other) => [one, other] as const)),
]

const room = (file: string): string => file.split('/').slice(0, -1).slice(0, 2).join('/')
const floor = (name: string): number => FLOORS.findIndex((rooms) => rooms.includes(name))
const under = (name: string, wall: string): boolean => name === wall || name.startsWith(`${wall}/`)

/** Rooms that imports cross, of code that runs in production: tests may look anywhere below `test`. */
function listEdges(): { from: string; to: string; file: string }[] {
  const files = globSync('{config,src,mta,api,migrations}/**/*.ts').filter((file) => !file.endsWith('.test.ts'))
  return files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?'#([^']+)'/g)].map(([, target]) => ({
      from: room(file),
      to: room(target ?? ''),
      file,
    })),
  )
}

describe('floors', () => {
  it('no room imports upwards, through a wall, or from a folder without a floor', () => {
    const edges = listEdges()
    assert.ok(edges.length > 100, 'the imports were found')
    const broken = edges.flatMap(({ from, to, file }) => {
      if (from === to) return []
      if (floor(from) < 0 || floor(to) < 0) return [`${file}: ${floor(from) < 0 ? from : to} has no floor`]
      if (floor(to) > floor(from)) return [`${file}: ${from} looks up to ${to}`]
      return WALLS.some(([a, b]) => (under(from, a) && under(to, b)) || (under(from, b) && under(to, a)))
        ? [`${file}: wall between ${from} and ${to}`]
        : []
    })
    assert.deepEqual(broken, [])
  })
  it('every folder of code has a floor', () => {
    const rooms = new Set(globSync('{config,src,mta,api,migrations}/**/*.ts').map(room))
    assert.deepEqual(
      [...rooms].filter((name) => floor(name) < 0),
      [],
    )
  })
})
