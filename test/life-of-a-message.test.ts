/** The table at the end of docs/reference/life-of-a-message.md counts the steps that the page lists. */
import { readFileSync } from 'node:fs'
import { assert } from 'chai'

const PAGE = readFileSync('docs/reference/life-of-a-message.md', 'utf8')

interface Count {
  readonly files: number
  readonly hops: number
  readonly returns: number
}

/** The files of each leg by its name, in the order of the steps. */
function readLegs(): Map<string, string[]> {
  const sections = [...PAGE.matchAll(/^## \d+\. ([^:]+):(.*?)(?=^## )/gms)]
  return new Map(
    sections.map(([, name = '', text = '']) => [
      name,
      [...text.matchAll(/^\d+\. (?:Back in )?`([^`]+)`/gm)].map(([, file = '']) => file),
    ]),
  )
}

function countOf(steps: readonly string[]): Count {
  const files = new Set(steps).size
  return { files, hops: steps.length - 1, returns: steps.length - files }
}

/** The first three figures of a row of the table. */
function readRow(name: string): Count {
  const row = PAGE.split('\n').find((line) => line.replaceAll('*', '').startsWith(`| ${name} |`)) ?? ''
  const [files = 0, hops = 0, returns = 0] = [...row.matchAll(/\d+/g)].map(Number)
  return { files, hops, returns }
}

describe('the life of a message', () => {
  const legs = readLegs()
  const counts = [...legs.values()].map(countOf)
  const sum = (of: (count: Count) => number): number => counts.reduce((total, count) => total + of(count), 0)

  for (const [name, steps] of legs) it(name, () => assert.deepEqual(readRow(name), countOf(steps)))

  it('marks exactly the steps that return to a file of the leg', () => {
    const marked = [...PAGE.matchAll(/^\d+\. Back in /gm)].length
    assert.strictEqual(
      marked,
      sum(({ returns }) => returns),
    )
  })
  it('counts all legs together', () => {
    assert.strictEqual(legs.size, 6)
    assert.deepEqual(readRow('Together'), {
      files: new Set([...legs.values()].flat()).size,
      hops: sum(({ hops }) => hops),
      returns: sum(({ returns }) => returns),
    })
  })
})
