import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { assert } from 'chai'
import { until } from '#test/support/until.ts'
import { invalidatePaths } from './queries.ts'

const KEY = ['/api/v1/public/webhooks/:id', 'workspace', {}]
const CHANGED = ['/public/webhooks']

/** A page that shows one query; each request waits for `answer`, and is counted. */
function showPage() {
  const client = new QueryClient()
  const waiting: ((answer: string) => void)[] = []
  let cancelled = 0
  const observer = new QueryObserver(client, {
    queryKey: KEY,
    queryFn: ({ signal }) => {
      signal.addEventListener('abort', () => cancelled++)
      return new Promise<string>((resolve) => waiting.push(resolve))
    },
  })
  const leave = observer.subscribe(() => undefined)
  const requests = (count: number): Promise<void> =>
    until(
      () => waiting.length >= count,
      () => `${count} requests were awaited, ${waiting.length} came`,
    )
  return {
    client,
    requests,
    shown: () => client.getQueryData(KEY),
    /** Answers the request with this number; the first is 0. */
    answer: (index: number, text: string) => waiting[index]?.(text),
    count: () => waiting.length,
    cancelled: () => cancelled,
    close: () => {
      leave()
      client.clear()
    },
  }
}

describe('changes and requests that are under way', () => {
  it('what changed while a page loaded is read again', async () => {
    const page = showPage()
    await page.requests(1)
    const done = invalidatePaths(page.client, CHANGED)
    page.answer(0, 'before the change')
    await page.requests(2)
    page.answer(1, 'after the change')
    await done
    assert.strictEqual(page.shown(), 'after the change')
    assert.strictEqual(page.count(), 2)
    page.close()
  })

  it('changes that keep coming cancel no request, and cost one more in all', async () => {
    const page = showPage()
    await page.requests(1)
    page.answer(0, 'first')
    await until(
      () => page.shown() === 'first',
      () => 'the first answer is not shown',
    )
    const changes = [1, 2, 3].map(() => invalidatePaths(page.client, CHANGED))
    await page.requests(2)
    page.answer(1, 'second')
    await page.requests(3)
    page.answer(2, 'third')
    await Promise.all(changes)
    assert.strictEqual(page.shown(), 'third')
    assert.deepEqual([page.count(), page.cancelled()], [3, 0])
    page.close()
  })

  it('a change of something else asks nothing', async () => {
    const page = showPage()
    await page.requests(1)
    page.answer(0, 'first')
    await until(
      () => page.shown() === 'first',
      () => 'the first answer is not shown',
    )
    await invalidatePaths(page.client, ['/public/contacts'])
    assert.strictEqual(page.count(), 1)
    page.close()
  })
})
