SELECT
  COUNT(*) AS `value`
FROM (
  SELECT
    `t0`.`subject_id`
  FROM `mimiciv_hosp`.`diagnoses_icd` AS `t0`
) AS `t1`;

SELECT
  COUNT(*) AS `value`
FROM (
  SELECT
    `t0`.`subject_id`
  FROM `mimiciv_hosp`.`procedures_icd` AS `t0`
) AS `t1`;

SELECT
  `t5`.`kind`,
  `t5`.`version`,
  `t5`.`code`,
  COUNT(*) AS `entries`
FROM (
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        'diagnoses_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t0`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t0`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'diagnosis' AS `kind`,
        CAST(`t0`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t0`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t0`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t0`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM `mimiciv_hosp`.`diagnoses_icd` AS `t0`
    ) AS `t2`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        'procedures_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'procedure' AS `kind`,
        CAST(`t1`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t1`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM `mimiciv_hosp`.`procedures_icd` AS `t1`
    ) AS `t3`
  ) AS `t4`
  WHERE
    `t4`.`code` IS NOT NULL AND `t4`.`kind` IS NOT NULL
) AS `t5`
GROUP BY
  1,
  2,
  3;

SELECT
  `t8`.`file`,
  `t8`.`field`,
  `t8`.`reason`,
  COUNT(*) AS `entries`
FROM (
  SELECT
    `t7`.`file`,
    `t7`.`line`,
    `t7`.`field`,
    `t7`.`stay`,
    `t7`.`patient`,
    `t7`.`kind`,
    `t7`.`position`,
    `t7`.`code`,
    `t7`.`version`,
    `t3`.`code_id`,
    CASE
      WHEN `t7`.`stay` IS NULL
      THEN 'missing_stay'
      WHEN `t7`.`code` IS NULL
      THEN 'missing_code'
      WHEN `t7`.`kind` IS NULL
      THEN 'missing_kind'
      WHEN `t7`.`version` IS NULL
      THEN 'not_icd'
      ELSE NULLIF(`t3`.`verdict`, '')
    END AS `reason`
  FROM (
    SELECT
      *
    FROM (
      SELECT
        'diagnoses_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'diagnosis' AS `kind`,
        CAST(`t1`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t1`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM `mimiciv_hosp`.`diagnoses_icd` AS `t1`
    ) AS `t4`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        'procedures_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t2`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t2`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'procedure' AS `kind`,
        CAST(`t2`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t2`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM `mimiciv_hosp`.`procedures_icd` AS `t2`
    ) AS `t5`
  ) AS `t7`
  LEFT OUTER JOIN `verdicts` AS `t3`
    ON `t7`.`kind` = `t3`.`kind`
    AND `t7`.`version` = `t3`.`version`
    AND `t7`.`code` = `t3`.`code`
) AS `t8`
GROUP BY
  1,
  2,
  3;

SELECT
  `t8`.`file`,
  `t8`.`line`,
  `t8`.`reason`,
  `t8`.`field` AS `column`,
  SUBSTRING(`t8`.`code`, IF((
    0 + 1
  ) >= 1, 0 + 1, 0 + 1 + LENGTH(`t8`.`code`)), 40) AS `detail`
FROM (
  SELECT
    `t7`.`file`,
    `t7`.`line`,
    `t7`.`field`,
    `t7`.`stay`,
    `t7`.`patient`,
    `t7`.`kind`,
    `t7`.`position`,
    `t7`.`code`,
    `t7`.`version`,
    `t3`.`code_id`,
    CASE
      WHEN `t7`.`stay` IS NULL
      THEN 'missing_stay'
      WHEN `t7`.`code` IS NULL
      THEN 'missing_code'
      WHEN `t7`.`kind` IS NULL
      THEN 'missing_kind'
      WHEN `t7`.`version` IS NULL
      THEN 'not_icd'
      ELSE NULLIF(`t3`.`verdict`, '')
    END AS `reason`
  FROM (
    SELECT
      *
    FROM (
      SELECT
        'diagnoses_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'diagnosis' AS `kind`,
        CAST(`t1`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t1`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM `mimiciv_hosp`.`diagnoses_icd` AS `t1`
    ) AS `t4`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        'procedures_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t2`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t2`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'procedure' AS `kind`,
        CAST(`t2`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t2`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(NULLIF(CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING), '')),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM `mimiciv_hosp`.`procedures_icd` AS `t2`
    ) AS `t5`
  ) AS `t7`
  LEFT OUTER JOIN `verdicts` AS `t3`
    ON `t7`.`kind` = `t3`.`kind`
    AND `t7`.`version` = `t3`.`version`
    AND `t7`.`code` = `t3`.`code`
) AS `t8`
WHERE
  `t8`.`reason` IS NOT NULL
ORDER BY
  CASE
    WHEN `t8`.`file` = 'diagnoses_icd'
    THEN 0
    WHEN `t8`.`file` = 'procedures_icd'
    THEN 1
    ELSE 2
  END ASC NULLS LAST,
  `t8`.`line` ASC NULLS LAST,
  CASE WHEN `t8`.`field` = 'icd_code' THEN 0 ELSE 1 END ASC NULLS LAST,
  CASE WHEN `t8`.`reason` = 'not_a_code' THEN 0 ELSE 1 END ASC NULLS LAST,
  SUBSTRING(`t8`.`code`, IF((
    0 + 1
  ) >= 1, 0 + 1, 0 + 1 + LENGTH(`t8`.`code`)), 40) ASC NULLS LAST;

WITH `t19` AS (
  SELECT
    `t18`.`stay`,
    `t18`.`kind`,
    `t18`.`code_id`,
    MIN(`t18`.`position`) AS `position`,
    MIN(`t18`.`line`) AS `line`,
    MIN(`t18`.`patient`) AS `patient`,
    MAX(`t18`.`patient`) AS `other_patient`
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t14`.`file`,
        `t14`.`line`,
        `t14`.`field`,
        `t14`.`stay`,
        `t14`.`patient`,
        `t14`.`kind`,
        `t14`.`position`,
        `t14`.`code`,
        `t14`.`version`,
        `t5`.`code_id`,
        CASE
          WHEN `t14`.`stay` IS NULL
          THEN 'missing_stay'
          WHEN `t14`.`code` IS NULL
          THEN 'missing_code'
          WHEN `t14`.`kind` IS NULL
          THEN 'missing_kind'
          WHEN `t14`.`version` IS NULL
          THEN 'not_icd'
          ELSE NULLIF(`t5`.`verdict`, '')
        END AS `reason`
      FROM (
        SELECT
          *
        FROM (
          SELECT
            'diagnoses_icd' AS `file`,
            CAST(NULL AS INT64) AS `line`,
            'icd_code' AS `field`,
            NULLIF(CAST(CAST(`t3`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
            NULLIF(CAST(CAST(`t3`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
            'diagnosis' AS `kind`,
            CAST(`t3`.`seq_num` AS INT64) AS `position`,
            NULLIF(
              REGEXP_REPLACE(`t3`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS `code`,
            CASE
              WHEN REGEXP_REPLACE(
                LOWER(NULLIF(CAST(CAST(`t3`.`icd_version` AS INT64) AS STRING), '')),
                '[^a-z0-9.]',
                ''
              ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
              THEN 9
              WHEN REGEXP_REPLACE(
                LOWER(NULLIF(CAST(CAST(`t3`.`icd_version` AS INT64) AS STRING), '')),
                '[^a-z0-9.]',
                ''
              ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
              THEN 10
              ELSE -1
            END AS `version`
          FROM `mimiciv_hosp`.`diagnoses_icd` AS `t3`
        ) AS `t10`
        UNION ALL
        SELECT
          *
        FROM (
          SELECT
            'procedures_icd' AS `file`,
            CAST(NULL AS INT64) AS `line`,
            'icd_code' AS `field`,
            NULLIF(CAST(CAST(`t4`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
            NULLIF(CAST(CAST(`t4`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
            'procedure' AS `kind`,
            CAST(`t4`.`seq_num` AS INT64) AS `position`,
            NULLIF(
              REGEXP_REPLACE(`t4`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS `code`,
            CASE
              WHEN REGEXP_REPLACE(
                LOWER(NULLIF(CAST(CAST(`t4`.`icd_version` AS INT64) AS STRING), '')),
                '[^a-z0-9.]',
                ''
              ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
              THEN 9
              WHEN REGEXP_REPLACE(
                LOWER(NULLIF(CAST(CAST(`t4`.`icd_version` AS INT64) AS STRING), '')),
                '[^a-z0-9.]',
                ''
              ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
              THEN 10
              ELSE -1
            END AS `version`
          FROM `mimiciv_hosp`.`procedures_icd` AS `t4`
        ) AS `t11`
      ) AS `t14`
      LEFT OUTER JOIN `verdicts` AS `t5`
        ON `t14`.`kind` = `t5`.`kind`
        AND `t14`.`version` = `t5`.`version`
        AND `t14`.`code` = `t5`.`code`
    ) AS `t17`
    WHERE
      `t17`.`reason` IS NULL
  ) AS `t18`
  GROUP BY
    1,
    2,
    3
)
SELECT
  *
FROM (
  SELECT
    `t33`.`stay`,
    `t33`.`patient`,
    `t33`.`other_patient`,
    `t33`.`diagnoses`,
    `t33`.`procedures`,
    `t16`.`sex`,
    `t16`.`admission_type`
  FROM (
    SELECT
      `t31`.`stay`,
      `t31`.`patient`,
      `t31`.`other_patient`,
      `t31`.`diagnoses`,
      `t31`.`procedures`
    FROM (
      SELECT
        `t30`.`stay`,
        MIN(`t30`.`patient`) AS `patient`,
        MAX(`t30`.`other_patient`) AS `other_patient`,
        ARRAY_AGG(IF(`t30`.`kind` = 'diagnosis', `t30`.`placed`, NULL) IGNORE NULLS) AS `diagnoses`,
        ARRAY_AGG(IF(`t30`.`kind` = 'procedure', `t30`.`placed`, NULL) IGNORE NULLS) AS `procedures`,
        COUNTIF(`t30`.`kind` = 'diagnosis') AS `diagnosis_count`,
        COUNTIF(`t30`.`kind` = 'procedure') AS `procedure_count`
      FROM (
        SELECT
          `t29`.`stay`,
          `t29`.`kind`,
          `t29`.`code_id`,
          `t29`.`position`,
          `t29`.`line`,
          `t29`.`patient`,
          `t29`.`other_patient`,
          (
            (
              ROW_NUMBER() OVER (
                PARTITION BY `t29`.`stay`, `t29`.`kind`
                ORDER BY COALESCE(`t29`.`position`, 4611686018427387904) ASC, COALESCE(`t29`.`line`, 0) ASC, `t29`.`code_id` ASC
              ) - 1
            ) * 4294967296
          ) + `t29`.`code_id` AS `placed`
        FROM (
          SELECT
            `t21`.`stay`,
            `t21`.`kind`,
            `t21`.`code_id`,
            `t21`.`position`,
            `t21`.`line`,
            `t21`.`patient`,
            `t21`.`other_patient`
          FROM `t19` AS `t21`
          INNER JOIN (
            SELECT
              `t22`.`stay`
            FROM (
              SELECT
                `t20`.`stay`,
                COUNT(DISTINCT `t20`.`kind`) AS `kinds`
              FROM `t19` AS `t20`
              GROUP BY
                1
            ) AS `t22`
            WHERE
              `t22`.`kinds` = 2
          ) AS `t24`
            ON `t21`.`stay` = `t24`.`stay`
          INNER JOIN (
            SELECT
              `t26`.`code_id`
            FROM (
              SELECT
                `t25`.`code_id`,
                COUNT(*) AS `stays`
              FROM (
                SELECT
                  `t21`.`stay`,
                  `t21`.`kind`,
                  `t21`.`code_id`,
                  `t21`.`position`,
                  `t21`.`line`,
                  `t21`.`patient`,
                  `t21`.`other_patient`
                FROM `t19` AS `t21`
                INNER JOIN (
                  SELECT
                    `t22`.`stay`
                  FROM (
                    SELECT
                      `t20`.`stay`,
                      COUNT(DISTINCT `t20`.`kind`) AS `kinds`
                    FROM `t19` AS `t20`
                    GROUP BY
                      1
                  ) AS `t22`
                  WHERE
                    `t22`.`kinds` = 2
                ) AS `t24`
                  ON `t21`.`stay` = `t24`.`stay`
              ) AS `t25`
              GROUP BY
                1
            ) AS `t26`
            WHERE
              `t26`.`stays` >= 1
          ) AS `t28`
            ON `t21`.`code_id` = `t28`.`code_id`
        ) AS `t29`
      ) AS `t30`
      GROUP BY
        1
    ) AS `t31`
    WHERE
      `t31`.`diagnosis_count` > 0 AND `t31`.`procedure_count` > 0
  ) AS `t33`
  LEFT OUTER JOIN (
    SELECT
      `t12`.`stay`,
      MIN(`t12`.`sex`) AS `sex`,
      MIN(`t12`.`admission_type`) AS `admission_type`
    FROM (
      SELECT
        NULLIF(CAST(`t7`.`hadm_id` AS STRING), '') AS `stay`,
        NULLIF(
          REGEXP_REPLACE(`t9`.`gender`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `sex`,
        NULLIF(
          REGEXP_REPLACE(`t7`.`admission_type`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `admission_type`
      FROM (
        SELECT
          CAST(NULL AS INT64) AS `line`,
          CAST(`t0`.`hadm_id` AS INT64) AS `hadm_id`,
          CAST(`t0`.`subject_id` AS INT64) AS `subject_id`,
          `t0`.`admission_type`
        FROM `mimiciv_hosp`.`admissions` AS `t0`
      ) AS `t7`
      LEFT OUTER JOIN (
        SELECT
          `t1`.`gender`,
          NULLIF(CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING), '') AS `person`
        FROM `mimiciv_hosp`.`patients` AS `t1`
      ) AS `t9`
        ON NULLIF(CAST(`t7`.`subject_id` AS STRING), '') = `t9`.`person`
    ) AS `t12`
    GROUP BY
      1
  ) AS `t16`
    ON `t33`.`stay` = `t16`.`stay`
) AS `t34`
ORDER BY
  LENGTH(`t34`.`stay`) ASC NULLS LAST,
  `t34`.`stay` ASC NULLS LAST;

WITH `t6` AS (
  SELECT
    *
  FROM (
    SELECT
      'diagnoses_icd' AS `file`,
      CAST(NULL AS INT64) AS `line`,
      'icd_code' AS `field`,
      NULLIF(CAST(CAST(`t0`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
      NULLIF(CAST(CAST(`t0`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
      'diagnosis' AS `kind`,
      CAST(`t0`.`seq_num` AS INT64) AS `position`,
      NULLIF(
        REGEXP_REPLACE(`t0`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
        ''
      ) AS `code`,
      CASE
        WHEN REGEXP_REPLACE(
          LOWER(NULLIF(CAST(CAST(`t0`.`icd_version` AS INT64) AS STRING), '')),
          '[^a-z0-9.]',
          ''
        ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
        THEN 9
        WHEN REGEXP_REPLACE(
          LOWER(NULLIF(CAST(CAST(`t0`.`icd_version` AS INT64) AS STRING), '')),
          '[^a-z0-9.]',
          ''
        ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
        THEN 10
        ELSE -1
      END AS `version`
    FROM `mimiciv_hosp`.`diagnoses_icd` AS `t0`
  ) AS `t4`
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      'procedures_icd' AS `file`,
      CAST(NULL AS INT64) AS `line`,
      'icd_code' AS `field`,
      NULLIF(CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
      NULLIF(CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
      'procedure' AS `kind`,
      CAST(`t1`.`seq_num` AS INT64) AS `position`,
      NULLIF(
        REGEXP_REPLACE(`t1`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
        ''
      ) AS `code`,
      CASE
        WHEN REGEXP_REPLACE(
          LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
          '[^a-z0-9.]',
          ''
        ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
        THEN 9
        WHEN REGEXP_REPLACE(
          LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
          '[^a-z0-9.]',
          ''
        ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
        THEN 10
        ELSE -1
      END AS `version`
    FROM `mimiciv_hosp`.`procedures_icd` AS `t1`
  ) AS `t5`
), `t11` AS (
  SELECT
    `t8`.`file`,
    `t8`.`line`,
    `t8`.`field`,
    `t8`.`stay`,
    `t8`.`patient`,
    `t8`.`kind`,
    `t8`.`position`,
    `t8`.`code`,
    `t8`.`version`,
    `t3`.`code_id`,
    CASE
      WHEN `t8`.`stay` IS NULL
      THEN 'missing_stay'
      WHEN `t8`.`code` IS NULL
      THEN 'missing_code'
      WHEN `t8`.`kind` IS NULL
      THEN 'missing_kind'
      WHEN `t8`.`version` IS NULL
      THEN 'not_icd'
      ELSE NULLIF(`t3`.`verdict`, '')
    END AS `reason`
  FROM `t6` AS `t8`
  LEFT OUTER JOIN `verdicts` AS `t3`
    ON `t8`.`kind` = `t3`.`kind`
    AND `t8`.`version` = `t3`.`version`
    AND `t8`.`code` = `t3`.`code`
), `t14` AS (
  SELECT
    *
  FROM `t11` AS `t12`
  WHERE
    `t12`.`reason` IS NULL
), `t18` AS (
  SELECT
    `t15`.`stay`,
    `t15`.`kind`,
    `t15`.`code_id`,
    MIN(`t15`.`position`) AS `position`,
    MIN(`t15`.`line`) AS `line`,
    MIN(`t15`.`patient`) AS `patient`,
    MAX(`t15`.`patient`) AS `other_patient`
  FROM `t14` AS `t15`
  GROUP BY
    1,
    2,
    3
), `t28` AS (
  SELECT
    `t22`.`stay`,
    `t22`.`kind`,
    `t22`.`code_id`,
    `t22`.`position`,
    `t22`.`line`,
    `t22`.`patient`,
    `t22`.`other_patient`
  FROM `t18` AS `t22`
  INNER JOIN (
    SELECT
      `t24`.`stay`
    FROM (
      SELECT
        `t20`.`stay`,
        COUNT(DISTINCT `t20`.`kind`) AS `kinds`
      FROM `t18` AS `t20`
      GROUP BY
        1
    ) AS `t24`
    WHERE
      `t24`.`kinds` = 2
  ) AS `t27`
    ON `t22`.`stay` = `t27`.`stay`
)
SELECT
  *
FROM (
  SELECT
    *
  FROM (
    SELECT
      `t32`.`number`,
      6 AS `place`
    FROM (
      SELECT
        COUNT(DISTINCT `t29`.`stay`) AS `number`
      FROM `t28` AS `t29`
    ) AS `t32`
  ) AS `t34`
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t9`.`number`,
        0 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t6` AS `t7`
      ) AS `t9`
    ) AS `t10`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        `t17`.`number`,
        1 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t14` AS `t15`
      ) AS `t17`
    ) AS `t19`
  ) AS `t21`
) AS `t37`
UNION ALL
SELECT
  *
FROM (
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t23`.`number`,
        2 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t18` AS `t20`
      ) AS `t23`
    ) AS `t25`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        `t30`.`number`,
        3 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t28` AS `t29`
      ) AS `t30`
    ) AS `t33`
  ) AS `t35`
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t40`.`number`,
        4 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM (
          SELECT
            `t22`.`stay`,
            `t22`.`kind`,
            `t22`.`code_id`,
            `t22`.`position`,
            `t22`.`line`,
            `t22`.`patient`,
            `t22`.`other_patient`
          FROM `t18` AS `t22`
          INNER JOIN (
            SELECT
              `t24`.`stay`
            FROM (
              SELECT
                `t20`.`stay`,
                COUNT(DISTINCT `t20`.`kind`) AS `kinds`
              FROM `t18` AS `t20`
              GROUP BY
                1
            ) AS `t24`
            WHERE
              `t24`.`kinds` = 2
          ) AS `t27`
            ON `t22`.`stay` = `t27`.`stay`
          INNER JOIN (
            SELECT
              `t31`.`code_id`
            FROM (
              SELECT
                `t29`.`code_id`,
                COUNT(*) AS `stays`
              FROM `t28` AS `t29`
              GROUP BY
                1
            ) AS `t31`
            WHERE
              `t31`.`stays` >= 1
          ) AS `t38`
            ON `t22`.`code_id` = `t38`.`code_id`
        ) AS `t39`
      ) AS `t40`
    ) AS `t41`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        `t13`.`number`,
        5 AS `place`
      FROM (
        SELECT
          COUNT(DISTINCT `t12`.`stay`) AS `number`
        FROM `t11` AS `t12`
      ) AS `t13`
    ) AS `t16`
  ) AS `t42`
) AS `t43`;
