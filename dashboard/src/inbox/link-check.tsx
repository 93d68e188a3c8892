/** All links and images of a mail, with what should be looked at: no https, another target than the text says. */
import { useMemo, type ReactNode } from 'react'
import { assessLink, readLinks, type AssessedLink } from '#dashboard/src/shared/mail-links.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { CopyButton } from '#dashboard/src/ui/copy-button.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

const SCHEME_TONES: Readonly<Record<AssessedLink['scheme'], Tone>> = {
  https: 'success',
  http: 'warning',
  mailto: 'neutral',
  tel: 'neutral',
  cid: 'neutral',
  anchor: 'neutral',
  other: 'danger',
  invalid: 'danger',
}

export function LinkCheck({ html }: { readonly html: string | null }): ReactNode {
  const { inbox } = useTexts()
  const links = useMemo(() => (html === null ? [] : readLinks(html).map(assessLink)), [html])
  if (links.length === 0) return <p className="text-muted">{inbox.noLinks}</p>
  const doubtful = links.filter(
    ({ scheme, hasOtherText }) =>
      (SCHEME_TONES[scheme] !== 'success' && SCHEME_TONES[scheme] !== 'neutral') || hasOtherText,
  )
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <p className="text-sm text-muted">{inbox.linksFound(links.length, doubtful.length)}</p>
      <ul className="min-w-0 divide-y divide-line rounded-lg border border-line">
        {links.map((link, index) => (
          <Link key={index} link={link} />
        ))}
      </ul>
    </div>
  )
}

function Link({ link }: { readonly link: AssessedLink }): ReactNode {
  const { inbox } = useTexts()
  const { kind, scheme, own, hasOtherText, text, url } = link
  return (
    <li className="flex min-w-0 items-start gap-2 p-3">
      <div className="min-w-0 grow">
        <div className="flex min-w-0 flex-wrap items-center gap-1.5">
          <span className="min-w-0 truncate font-medium text-ink">{text === '' ? inbox.noLinkText[kind] : text}</span>
          <Badge>{inbox.linkKinds[kind]}</Badge>
          <Badge tone={SCHEME_TONES[scheme]}>{inbox.schemes[scheme]}</Badge>
          {own !== null && <Badge tone="info">{inbox.ownLinks[own]}</Badge>}
          {hasOtherText && <Badge tone="danger">{inbox.otherText}</Badge>}
        </div>
        <code className="mt-1 block text-xs break-all text-muted">{url}</code>
      </div>
      <CopyButton text={url} />
    </li>
  )
}
