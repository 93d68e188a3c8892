import type { ServerTexts } from '#dashboard/src/texts/en/server.ts'

/** With the parameters of the server in braces. What a text of a receiver or of an operator says is not translated. */
export const server: ServerTexts = {
  'record.dkim_published': 'Der DKIM-Schlüssel ist veröffentlicht.',
  'record.txt_missing': 'Es gibt keinen TXT-Eintrag.',
  'record.dkim_not_a_key': 'Es gibt einen TXT-Eintrag, aber er ist kein DKIM-Schlüssel.',
  'record.dkim_several': 'Unter diesem Namen gibt es {count} DKIM-Einträge. Behalten Sie nur diesen.',
  'record.quoted': 'Der Wert enthält Anführungszeichen. Tragen Sie ihn ohne sie ein.',
  'record.dkim_version': 'Der Wert hat v={found} statt v=DKIM1.',
  'record.dkim_key_type': 'Der Wert hat k={found} statt k={expected}.',
  'record.dkim_hash': 'Der Wert hat h={found}. Das erlaubt sha256 nicht.',
  'record.dkim_service': 'Der Wert hat s={found}. Das erlaubt keine E-Mail.',
  'record.dkim_revoked': 'Der Schlüssel (p=) ist leer, gilt also als widerrufen.',
  'record.dkim_other_key': 'Der Eintrag enthält einen anderen Schlüssel.',
  'record.dkim_cut':
    'Der Schlüssel ist nach {length} von {expected} Zeichen abgeschnitten. Tragen Sie den Wert als mehrere Zeichenketten von höchstens 255 Zeichen ein.',
  'record.dkim_not_published_by_operator':
    'Der CNAME-Eintrag ist veröffentlicht, aber der Betreiber dieses Dienstes hat den Schlüssel nicht veröffentlicht.',
  'record.record_elsewhere':
    'Der Eintrag steht unter {found}. Tragen Sie seinen Namen als {short} ein: Ihr DNS-Anbieter hängt die Domain an.',
  'record.hidden_by_cname': 'Ein CNAME auf {target} verdeckt alle anderen Einträge dieses Namens. Entfernen Sie ihn.',
  'record.cname_published': 'Der CNAME-Eintrag ist veröffentlicht.',
  'record.cname_missing': 'Es gibt keinen CNAME-Eintrag.',
  'record.cname_elsewhere': 'Der CNAME zeigt auf {found}. Er muss auf {expected} zeigen.',
  'record.cname_is_address':
    'Der Name hat einen Adresseintrag. Er muss ein CNAME auf {expected} sein, ohne Proxy des DNS-Anbieters.',
  'record.mx_published': 'Der MX-Eintrag ist veröffentlicht.',
  'record.mx_missing': 'Es gibt keinen MX-Eintrag.',
  'record.mx_elsewhere': 'Der MX ist {found}. Er darf nur {expected} sein, sonst gehen Bounces verloren.',
  'record.spf_authorises': 'SPF erlaubt diesen Dienst, mit {count} von {max} DNS-Abfragen.',
  'record.spf_missing': 'Es gibt keinen SPF-Eintrag.',
  'record.spf_several':
    'Es gibt {count} SPF-Einträge, deshalb sind alle ungültig (RFC 7208 4.5). Führen Sie sie zu einem zusammen.',
  'record.spf_without_us': 'Der SPF-Eintrag erlaubt diesen Dienst nicht. Ergänzen Sie include:{include} vor „all“.',
  'record.spf_invalid': 'Der SPF-Eintrag ist ungültig: {term} ist kein gültiger Ausdruck.',
  'record.spf_included_invalid': 'Der SPF-Eintrag von {name} ist ungültig: {term} ist kein gültiger Ausdruck.',
  'record.spf_lookups':
    'Der SPF-Eintrag braucht mehr als {max} DNS-Abfragen, deshalb ist er ungültig (RFC 7208 4.6.4). Entfernen Sie einige Ausdrücke.',
  'record.spf_slow': 'Die Auswertung des SPF-Eintrags dauert zu lange. Er wird erneut geprüft.',
  'record.spf_loop': 'Der SPF-Eintrag bindet über {name} sich selbst ein. Empfänger lehnen das ab.',
  'record.spf_include_unread':
    'Der eingebundene Eintrag von {name} konnte nicht gelesen werden. Er wird erneut geprüft.',
  'record.spf_include_without_record': 'Er bindet {name} ein. Dort gibt es keinen SPF-Eintrag.',
  'record.spf_include_of_operator':
    'Er bindet {name} ein. Dort gibt es keinen SPF-Eintrag: Der Betreiber dieses Dienstes muss ihn veröffentlichen.',
  'record.spf_include_several': 'Er bindet {name} ein. Dort gibt es {count} SPF-Einträge.',
  'record.spf_include_of_operator_several':
    'Er bindet {name} ein. Dort gibt es {count} SPF-Einträge: Der Betreiber dieses Dienstes muss das korrigieren.',
  'record.spf_name_unread': 'Ein Name im SPF-Eintrag konnte nicht gelesen werden. Der Eintrag wird erneut geprüft.',
  'record.spf_included_name_unread':
    'Ein Name im SPF-Eintrag von {name} konnte nicht gelesen werden. Der Eintrag wird erneut geprüft.',
  'record.spf_void_lookups':
    'Mehr als {max} Namen im SPF-Eintrag existieren nicht, deshalb ist er ungültig (RFC 7208 4.6.4).',
  'record.dmarc_published': 'Der DMARC-Eintrag hat die Richtlinie {policy}.',
  'record.dmarc_inherited': 'Es gilt die DMARC-Richtlinie von {domain}.',
  'record.dmarc_missing': 'Es gibt keinen DMARC-Eintrag.',
  'record.dmarc_several': 'Es gibt {count} DMARC-Einträge. Das zählt wie keiner (RFC 7489 6.6.3). Behalten Sie einen.',
  'record.dmarc_without_policy': 'Der DMARC-Eintrag hat keine Richtlinie. Ergänzen Sie p=none oder eine strengere.',
  'record.dmarc_policy': 'Der DMARC-Eintrag hat {tag}={found}. Möglich sind {policies}.',
  'record.dmarc_version': 'Der DMARC-Eintrag beginnt nicht mit v=DMARC1;.',
  'record.dns_timeout': 'Kein DNS-Server hat rechtzeitig geantwortet. Der Eintrag wird erneut geprüft.',
  'record.dns_unreachable': 'Kein DNS-Server ist erreichbar. Der Eintrag wird erneut geprüft.',
  'record.dns_servfail': 'Der DNS-Server meldet einen Fehler (SERVFAIL). Der Eintrag wird erneut geprüft.',
  'record.dns_refused': 'Der DNS-Server hat die Abfrage abgelehnt. Der Eintrag wird erneut geprüft.',
  'record.dns_failed': 'Die DNS-Abfrage ist fehlgeschlagen ({code}). Der Eintrag wird erneut geprüft.',

  'recommendation.mail_from':
    'Veröffentlichen Sie die MX- und TXT-Einträge von {name} (MAIL FROM). Dann kommen Bounces an Ihren eigenen Namen zurück, und SPF besteht für die Domain in From. Empfänger und DMARC belohnen das.',
  'recommendation.dkim_cnames':
    'Veröffentlichen Sie alle CNAME-Einträge für DKIM. Ohne sie können die Schlüssel der Domain nicht automatisch ersetzt werden.',
  'recommendation.dmarc':
    'Veröffentlichen Sie den DMARC-Eintrag _dmarc.{domain}. Große Empfänger verlangen ihn von Massenversendern.',
  'recommendation.dmarc_reports_nowhere':
    'Ergänzen Sie rua=mailto:{address} im Eintrag _dmarc.{domain}. Er nennt keine Adresse für DMARC-Berichte.',
  'recommendation.dmarc_reports_elsewhere':
    'Ergänzen Sie mailto:{address} nach einem Komma in rua des Eintrags _dmarc.{domain}. Die DMARC-Berichte gehen nur an {found} und erscheinen hier nicht.',
  'recommendation.dmarc_reports_not_agreed':
    'Bitten Sie den Betreiber dieses Dienstes, {record} TXT "v=DMARC1" zu veröffentlichen. Ohne diesen Eintrag senden Empfänger keine DMARC-Berichte über diese Domain.',

  'gate.not_evaluated': 'nicht geprüft, denn die Zustellung wartet nicht',
  'gate.not_scheduled': 'nicht geplant',
  'gate.scheduled_time_passed': 'Der geplante Zeitpunkt {at} ist vorbei.',
  'gate.waits_for_scheduled_time': 'Die Nachricht wartet auf ihren geplanten Zeitpunkt.',
  'gate.suppressed': 'Die Adresse steht seit {since} auf der Sperrliste.',
  'gate.was_suppressed': 'Die Adresse stand bei der Annahme auf der Sperrliste, jetzt nicht mehr.',
  'gate.not_suppressed': 'Die Adresse steht nicht auf der Sperrliste.',
  'gate.counted': 'Sie wurde bei der Annahme gezählt.',
  'gate.counted_and_quota_used':
    'Sie wurde bei der Annahme gezählt. Das Kontingent ist jetzt aufgebraucht: In diesem Monat wird keine Mail mehr angenommen.',
  'gate.redis_unavailable': 'Nicht bekannt, denn Redis ist nicht erreichbar.',
  'gate.instant_first': 'Mail der Stufe instant geht vor.',
  'gate.no_higher_tier': 'Für dieses Ziel wartet keine Mail einer höheren Stufe.',
  'gate.higher_tiers_first': 'Für dieses Ziel geht Mail höherer Stufen vor: {ahead}',
  'gate.source_busy':
    'Die Quelle hat für diesen Empfänger mehr Mail, als sie jetzt senden darf. Die Nachricht wartet, bis sie an der Reihe ist.',
  'gate.no_connection_limit': 'Kein Prozess ist am Verbindungslimit dieses Ziels.',
  'gate.connections': 'Verbindungen zu {site}: {count} in Gebrauch, {waiting} Nachrichten warten auf eine',
  'gate.connections_to_its_site': 'Verbindungen zum Ziel: {count} in Gebrauch, {waiting} Nachrichten warten auf eine',
  'gate.not_suspended': 'Das Ziel ist nicht ausgesetzt.',
  'gate.account_suspended': 'Das verbundene Konto ist ausgesetzt: {reason}',
  'gate.campaign_held_back': 'Die Kampagne wird zurückgehalten: {reason}',
  'gate.all_suspended': 'Der Betreiber hat den gesamten Versand ausgesetzt: {reason}',
  'gate.domain_suspended': 'Der Betreiber hat den Versand an {subject} ausgesetzt: {reason}',
  'gate.object_suspended': 'Der Betreiber hat den Versand ausgesetzt ({kind} {subject}): {reason}',
  'gate.domain_paused': 'Der Versand an {subject} ist wegen seiner Raten ausgesetzt: {reason}',
  'gate.object_paused': 'Der Versand ({kind} {subject}) ist wegen seiner Raten ausgesetzt: {reason}',
  'gate.receiver_suspended': '{receiver} ist wegen dieser Antwort ausgesetzt: {reply}',
  'gate.every_receiver_suspended': 'Der Versand an alle Empfänger ist wegen dieser Antwort ausgesetzt: {reply}',
  'gate.result_unknown':
    'Die Verbindung brach nach dem letzten Punkt ab. Der Empfänger hat die Nachricht vielleicht angenommen.',
  'gate.last_attempt': 'Der letzte Versuch endete mit: {reason}',
  'gate.last_attempt_without_reason': 'Der letzte Versuch ist gescheitert. Ein Grund ist nicht bekannt.',
  'gate.circuit_breaker': 'Alle Server des Ziels sind ausgefallen: {detail}',
  'gate.no_failed_attempt': 'Noch kein Versuch ist gescheitert.',
  'gate.attempts_used': '{used} von {max} Versuchen verbraucht',
  'gate.dns_failed': 'Die DNS-Abfrage ist fehlgeschlagen: {reason}',
  'gate.no_dns_failure': 'Kein DNS-Fehler ist bekannt.',
  'gate.source_available': 'Eine Quelle darf sie senden.',
  'gate.no_source': 'Keine Quelle des Pools kann sie jetzt senden ({reason}).',

  'progress.not_due': 'Sie ist noch nicht fällig.',
  'progress.redis_unavailable': 'Sie ist fällig. Wo sie wartet, ist nicht bekannt, denn Redis ist nicht erreichbar.',
  'progress.ready': 'Sie ist bereit für {site} und wartet, bis sie an der Reihe ist.',
  'progress.ready_for_pool': 'Sie ist bereit für {site} und wartet auf einen Knoten mit einer Quelle des Pools {pool}.',
  'progress.claimed_soon': 'Sie ist fällig und wird gleich bearbeitet.',
  'progress.looked_up':
    'Ihre MX-Hosts werden abgefragt, oder sie wird innerhalb von {seconds} Sekunden erneut eingeplant.',

  'error.VALIDATION_ERROR': 'Eine Angabe fehlt oder ist ungültig.',
  'error.INVALID_TEMPLATE': 'Die Vorlage fehlt, ist ungültig oder lässt sich mit diesen Werten nicht anzeigen.',
  'error.UNAUTHORIZED': 'Die Anmeldung ist ungültig oder abgelaufen.',
  'error.FORBIDDEN': 'Das ist hier nicht erlaubt.',
  'error.INSUFFICIENT_SCOPE': 'Dem Schlüssel fehlt die Berechtigung dafür.',
  'error.PLAN_REQUIRED': 'Diese Funktion braucht einen höheren Tarif.',
  'error.NOT_FOUND': 'Das Gesuchte gibt es nicht, oder es gehört zu einem anderen Arbeitsbereich.',
  'error.METHOD_NOT_ALLOWED': 'Der Server kennt diese Anfrage nicht. Laden Sie die Seite neu.',
  'error.REQUEST_TIMEOUT': 'Die Anfrage kam nicht rechtzeitig an. Versuchen Sie es erneut.',
  'error.CONFLICT': 'Der jetzige Zustand lässt das nicht zu.',
  'error.IDEMPOTENCY_MISMATCH': 'Diese Anfrage wurde schon mit anderen Angaben gesendet. Laden Sie die Seite neu.',
  'error.IDEMPOTENCY_IN_PROGRESS': 'Dieselbe Anfrage läuft noch. Warten Sie einen Augenblick.',
  'error.PAYLOAD_TOO_LARGE': 'Die Daten sind größer als erlaubt.',
  'error.UNSUPPORTED_MEDIA_TYPE': 'Diese Art von Datei wird nicht angenommen.',
  'error.RATE_LIMITED': 'Ein Limit ist erreicht. Versuchen Sie es später erneut.',
  'error.HEADERS_TOO_LARGE': 'Die Kopfzeilen der Anfrage sind größer als erlaubt.',
  'error.INTERNAL_ERROR': 'Auf dem Server ist ein Fehler aufgetreten. Versuchen Sie es erneut.',
  'error.SERVICE_UNAVAILABLE': 'Der Dienst ist gerade nicht verfügbar. Versuchen Sie es in Kürze erneut.',
  'error.UNREACHABLE': 'Der Server ist nicht erreichbar. Prüfen Sie die Verbindung und versuchen Sie es erneut.',
  'error.UNKNOWN': 'Der Server hat mit einem Fehler geantwortet.',
}
