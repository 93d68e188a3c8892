import type { ReactNode } from 'react'
import type { ApiKey } from '#dashboard/src/api/endpoints.ts'
import { Snippets } from '#dashboard/src/shared/snippets.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'

/** A first request with a new key. */
export function UseOfKey({ type, secret }: { readonly type: ApiKey['type']; readonly secret: string }): ReactNode {
  const { keys } = useTexts()
  const path = useWorkspacePath()
  const { origin } = globalThis.location
  const authorization = `-H 'Authorization: Bearer ${secret}'`
  const send = [
    `curl ${origin}/api/v1/send-email/instant \\`,
    `  ${authorization} -H 'Content-Type: application/json' \\`,
    `  -d '{"from":"you@your-domain.example","to":"ann@example.com","subject":"Hello","body":"<p>It works</p>"}'`,
  ].join('\n')
  const read = `curl ${origin}/api/v1/public/workspace \\\n  ${authorization}`
  return (
    <div className="flex flex-col gap-2">
      <Snippets
        label={keys.tryIt}
        snippets={[{ key: 'curl', label: 'curl', code: type === 'regular' ? send : read }]}
      />
      {type === 'regular' && (
        <p className="text-sm text-muted">
          {keys.alsoSmtp} <LinkText href={path('/smtp')}>{keys.toSmtp}</LinkText>
        </p>
      )}
    </div>
  )
}
