/** The look of the public pages: form, confirmation and its mail, unsubscribe, preferences. */
import type { ReactNode } from 'react'
import { getBranding } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { BrandingForm } from './branding-form.tsx'
import { SettingsTabs } from './settings-tabs.tsx'

export function BrandingPage(): ReactNode {
  const { people, branding: texts } = useTexts()
  const query = useApi(getBranding, {})
  const branding = query.data?.data
  return (
    <>
      <PageHeader
        title={people.settings.title}
        description={texts.description}
        tabs={<SettingsTabs current="branding" />}
      />
      {query.error !== null && branding === undefined && <FailedQuery query={query} title={texts.notLoaded} />}
      {query.isPending && (
        <Card className="max-w-3xl">
          <SkeletonLines lines={8} />
        </Card>
      )}
      {branding !== undefined && <BrandingForm branding={branding} />}
    </>
  )
}
